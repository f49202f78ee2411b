/** The style of the reference: both colour schemes, from 320 pixels on. */
export const STYLE = `:root{color-scheme:light dark;--text:#1b2430;--soft:#4d5a6a;--back:#fff;--panel:#f3f5f8;--link:#0b57a4;--line:#c9d1da;--mark:#fff3cd;--on-mark:#4d3a00}
@media(prefers-color-scheme:dark){:root{--text:#e3e8ee;--soft:#aab6c4;--back:#12161c;--panel:#1b212a;--link:#8ab4f8;--line:#3a4452;--mark:#3d3210;--on-mark:#ffe9a8}}
*{box-sizing:border-box}
body{margin:0;font:1rem/1.55 system-ui,sans-serif;color:var(--text);background:var(--back);display:grid;grid-template-columns:17rem minmax(0,1fr)}
nav{position:sticky;top:0;max-height:100vh;overflow:auto;padding:1rem;border-right:1px solid var(--line);background:var(--panel)}
nav ul{list-style:none;margin:0 0 1rem;padding:0 0 0 .75rem}nav p{margin:.25rem 0;font-weight:600}
nav a{display:inline-block;padding:.1rem 0;min-height:1.5rem}
main{padding:1rem 2rem 4rem;max-width:60rem;overflow-wrap:anywhere}
a{color:var(--link)}h3 a{color:inherit}
h2{margin-top:3rem;border-bottom:1px solid var(--line)}.operation{margin-top:2.5rem}
code,pre{font-family:ui-monospace,monospace;font-size:.9em}
pre{background:var(--panel);border:1px solid var(--line);padding:.75rem;overflow:auto;max-height:30rem;white-space:pre-wrap}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.925rem}
th,td{text-align:left;vertical-align:top;padding:.35rem .6rem;border-bottom:1px solid var(--line)}
thead th:nth-child(4){width:40%}tbody th{font-weight:400}tbody th code{white-space:nowrap}td{min-width:8rem}
.soft{color:var(--soft)}.demo{background:var(--mark);color:var(--on-mark);padding:.5rem .75rem}
details{margin:.75rem 0}summary{cursor:pointer;min-height:1.5rem;color:var(--link)}summary h4{display:inline;color:var(--text)}
form div,.key{margin:.5rem 0}label{display:block;font-weight:600}
input,select,textarea,button{font:inherit;color:var(--text);background:var(--back);border:1px solid var(--soft);padding:.3rem .5rem;min-height:2rem;max-width:100%}
input,textarea{width:30rem}textarea{font-family:ui-monospace,monospace;font-size:.9rem}
button{background:var(--link);color:var(--back);border-color:var(--link);cursor:pointer}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}
.skip{position:absolute;left:-100vw}.skip:focus{left:.5rem;top:.5rem;background:var(--back);padding:.5rem;z-index:1}
@media(max-width:60rem){body{display:block}nav{position:static;max-height:14rem;border-right:0;border-bottom:1px solid var(--line)}main{padding:1rem}}
@media(max-width:40rem){tr,tbody th,td{display:block}thead{position:absolute;clip-path:inset(50%)}tr{border-bottom:1px solid var(--line);padding:.4rem 0}th,td{border:0;padding:.1rem 0;min-width:0}tbody th code{white-space:normal}td:empty{display:none}}
@media print{nav,form,.key{display:none}body{display:block}[data-folded]::details-content{content-visibility:visible}}
`
