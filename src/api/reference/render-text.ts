import { escapeHtml } from './html.ts'

/**
 * Renders the Markdown that descriptions use: paragraphs, second-level headings, lists, code, bold text and links.
 *
 * @param heading the element of a heading
 */
export function renderText(text: string, heading = 'h2'): string {
  return text
    .split('\n\n')
    .map((block) => {
      if (block.startsWith('## ')) return `<${heading}>${renderInline(block.slice(3))}</${heading}>`
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
    .replaceAll(/\[([^\]]+)\]\((\/[^)\s]*)\)/g, '<a href="$2">$1</a>')
}
