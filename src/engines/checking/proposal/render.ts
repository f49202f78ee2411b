import { Document, isMap } from 'yaml'
import { count } from '../../../foundation/text/format-number.ts'
import type { NamedFile, ProposedField, ProposedResource } from './describe-files.ts'

/**
 * Writes a proposal as YAML, with comments where a person must decide.
 *
 * @param unread files that are not in it, with the reason
 */
export function renderProposal(
  name: string,
  resources: readonly ProposedResource[],
  files: readonly NamedFile[],
  unread: readonly string[],
): string {
  const document = new Document(JSON.parse(JSON.stringify({ name, resources })))
  document.commentBefore = [
    ' A proposal from the records of these files. What holds in all of them may hold by chance: read each line, keep',
    ' what must hold, and remove the rest. Then check the files: mahi check FOLDER',
    ...unread.map((text) => ` Not in it: ${text}`),
  ].join('\n')
  for (const [index, { schema, path }] of resources.entries()) {
    const file = files.find((each) => each.path === path)
    const comment = (place: readonly (string | number)[], text: string | undefined) => {
      const node = document.getIn(['resources', index, ...place], true)
      if (text !== undefined && isMap(node)) node.commentBefore = ` ${text}`
    }
    comment([], describeResource(schema, file))
    for (const [position, field] of schema.fields.entries())
      comment(['schema', 'fields', position], describeField(field, file))
  }
  return document.toString({ lineWidth: 110 })
}

function describeResource({ primaryKey }: ProposedResource['schema'], file: NamedFile | undefined): string {
  const above =
    file?.headerRow === undefined || file.headerRow === 1
      ? ''
      : `The header is line ${file.headerRow}, below a title. `
  const records = `${above}${count(file?.records ?? 0, 'record')}`
  if (primaryKey === undefined)
    return `${records}. No column was recognised as the key. Which fields identify a record?`
  const others = (file?.columns ?? []).filter(
    ({ name, isUnique, isComplete }) => name !== primaryKey && isUnique && isComplete,
  )
  if (others.length === 0) return `${records}.`
  const names = others.slice(0, 5).map(({ name }) => name)
  return `${records}. The key could also be ${names.join(' or ')}.`
}

function describeField(field: ProposedField, file: NamedFile | undefined): string | undefined {
  const { name, type, constraints } = field
  const column = file?.columns.find((each) => each.name === name)
  if (column === undefined) return undefined
  if (column.filled === 0) return 'No record has a value. Which type has it?'
  const remarks: string[] = []
  const possible = type === 'string' ? column.possible : []
  const formats = possible.flatMap(({ format }) => format ?? [])
  if (formats.length > 1) {
    const all = formats.map((format) => `"${format}"`).join(' or ')
    remarks.push(`Dates such as ${column.example}? Then the type is date, and the format ${all}.`)
  } else if (possible.some(({ decimalChar }) => decimalChar !== undefined)) {
    remarks.push(`Numbers such as ${column.example}? Then say whether the comma is decimalChar or groupChar.`)
  }
  if (constraints?.enum !== undefined) remarks.push('Are other values permitted?')
  if (constraints?.unique) remarks.push('No value repeats. Is that so by chance?')
  return remarks.length === 0 ? undefined : remarks.join(' ')
}
