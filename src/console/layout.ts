import type { Principal, Scope } from '../api/access/principal.ts'
import { ASSETS } from './assets.ts'
import { FaultNotice, type Refused, RefusedForm } from './fields.ts'
import { type ComponentChildren, html, renderDocument } from './html.ts'
import { FormToken, PostForm } from './post-form.ts'
import type { Session } from './sessions.ts'
import { TimeZone } from './time.ts'

/** The parts of a page around its content. */
export interface Frame {
  readonly title: string
  /** The path of the page, such as `/console/occupations`. */
  readonly path: string
  /** The session of the signed-in user; `undefined` before sign-in. */
  readonly session?: Session | undefined
  /** A sentence about the last action, announced by screen readers. */
  readonly notice?: string | undefined
  /** The form that the page shows again, with what is wrong with it. */
  readonly refused?: Refused | undefined
  readonly timeZone?: string
}

interface Section {
  readonly path: string
  readonly label: string
  readonly scope: Scope
  /** Where its other pages are. */
  readonly also?: readonly string[]
}

/** In the order in which they are the first page of somebody: the agency, an organisation, and who finds occupations. */
const SECTIONS: readonly Section[] = [
  { path: '/console/returns', label: 'Returns', scope: 'operate' },
  { path: '/console/submissions', label: 'Submissions', scope: 'validation-results:read' },
  { path: '/console/rules', label: 'Rules', scope: 'validation-results:read' },
  {
    path: '/console/occupations',
    label: 'Occupations',
    scope: 'occupations:read',
    also: ['/console/compare'],
  },
  { path: '/console/code', label: 'Code my list', scope: 'occupations:read' },
  { path: '/console/code/confirmed', label: 'Confirmed', scope: 'codings:confirm' },
  { path: '/console/changes', label: 'Changes', scope: 'occupations:read' },
  { path: '/console/operator', label: 'Operator', scope: 'operate' },
]

const contains = ({ path, also = [] }: Section, shown: string): boolean =>
  [path, ...also].some((each) => shown.startsWith(each))

/** The first page that the scopes of somebody allow; `undefined` if there is none. */
export function homeOf({ scopes }: Principal): string | undefined {
  return SECTIONS.find(({ scope }) => scopes.has(scope))?.path
}

/** A link to an occupation whose code is one of O*NET-SOC: its data must be attributed. */
const FROM_ONET = /\/occupations\/\d\d-\d{4}\.\d\d/

const ATTRIBUTION =
  '<span>O*NET data is from the O*NET Database by the U.S. Department of Labor, Employment and Training Administration (CC BY 4.0).</span>'

export function renderPage(frame: Frame, content: ComponentChildren): string {
  const page = renderFrame(frame, content)
  return FROM_ONET.test(page) ? page.replace('</footer>', `${ATTRIBUTION}</footer>`) : page
}

function renderFrame(frame: Frame, content: ComponentChildren): string {
  const { title, path, session, notice, refused, timeZone = 'UTC' } = frame
  const principal = session?.principal
  const sections = SECTIONS.filter(({ scope }) => principal?.scopes.has(scope) === true)
  const current = sections.findLast((section) => contains(section, path))
  return renderDocument(html`
    <${TimeZone.Provider} value=${timeZone}><${FormToken.Provider} value=${session?.token}><${RefusedForm.Provider} value=${refused}>
    <html lang="en-NZ">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${refused !== undefined && 'Error: '}${title} – Mahi</title>
        <link rel="icon" href=${`${ASSETS}/icon.svg`} />
        <link rel="stylesheet" href=${`${ASSETS}/console.css`} />
        <script type="module" src=${`${ASSETS}/console.js`}></script>
      </head>
      <body>
        <a class="skip" href="#main">Skip to content</a>
        <header class="bar">
          <a class="brand" href="/console">Mahi</a>
          ${
            principal !== undefined &&
            html`<nav aria-label="Sections">
              <ul>
                ${sections.map(
                  (section) =>
                    html`<li><a href=${section.path} aria-current=${section === current ? 'page' : undefined}>${section.label}</a></li>`,
                )}
              </ul>
            </nav>
            <${PostForm} action="/console/sign-out" class="sign-out">
              <span class="who">${principal.name ?? principal.alias ?? principal.client}</span>
              <button type="submit" class="quiet">Sign out</button>
            <//>`
          }
        </header>
        <main id="main" tabindex="-1">
          <div role="status" aria-live="polite" class="notice">${notice}</div>
          <${FaultNotice} />
          ${content}
        </main>
        <footer>
          <a href="/docs">API reference</a>
          ${principal !== undefined && html`<span>Times are in ${timeZone.replace('_', ' ')}.</span>`}
        </footer>
      </body>
    </html>
    <//><//><//>
  `)
}
