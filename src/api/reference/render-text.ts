import { escapeHtml } from './html.ts'

/** Renders the Markdown that descriptions use: paragraphs, second-level headings, lists, code, bold text and links. */
export function renderText(text: string): string {
  return text
    .split('\n\n')
    .map((block) => {
      if (block.startsWith('## ')) return `<h2>${renderInline(block.slice(3))}</h2>`
      const lines = block.split('\n')
      if (lines.every((line) => line.startsWith('- ')))
        return `<ul>${lines.map((line) => `<li>${renderInline(line.slice(2))}</li>`).join('')}</ul>`
      return `<p>${renderInline(block)}</p>`
    })
    .join('\n')
}

export function renderInline(text: string): string {
  return escapeHtml(text)
    .replaceAll(/`([^`]+)`/g, '<code>$1</code>')
    .replaceAll(/\*\*([^*]+)\*\*/g, '<strong>$1</strong>')
    .replaceAll(/\[([^\][]+)\]\((\/[^()\s]*)\)/g, '<a href="$2">$1</a>')
}
