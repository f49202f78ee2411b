import { readFileSync } from 'node:fs'
import type { SDR_FILES } from './file-types.ts'

interface File {
  name: FileName
  fields: { name: string }[]
}

export type FileName = (typeof SDR_FILES)[number]

/** A record by column. An absent column is empty. */
export type Row = Record<string, string>

const path = new URL('../../../definitions/sdr/datapackage.json', import.meta.url)

/** The five files, with their columns in the order of the definition. */
export function readFiles(): File[] {
  const { resources } = JSON.parse(readFileSync(path, 'utf8')) as {
    resources: { name: FileName; schema: Pick<File, 'fields'> }[]
  }
  return resources.map(({ name, schema }) => ({ name, fields: schema.fields }))
}

/** Quotes a cell where CSV needs it (RFC 4180). */
function formatCell(value: string, separator: string): string {
  return /["\r\n]/.test(value) || value.includes(separator) ? `"${value.replaceAll('"', '""')}"` : value
}

export function formatRow(columns: readonly string[], row: Row, separator = ','): string {
  return `${columns.map((column) => formatCell(row[column] ?? '', separator)).join(separator)}\n`
}
