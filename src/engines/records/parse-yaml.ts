import type { ParseOptions, SchemaOptions } from 'yaml'
import { refuse } from '../../foundation/faults/faults.ts'

/**
 * Reads the YAML or JSON text of a file. Few commands need the parser, so that the others need not wait for it.
 *
 * @throws {InputRefused} if it is neither, with the line and the reason in words
 */
export async function parseYaml(
  text: string,
  file: string,
  options: ParseOptions & SchemaOptions = {},
): Promise<unknown> {
  const { parse } = await import('yaml')
  try {
    // JSON is YAML.
    return parse(text, options)
  } catch (error) {
    const { explainYaml } = await import('./explain-yaml.ts')
    const { line, message } = explainYaml(error, text)
    return refuse({ file, ...(line !== undefined && { line }), message })
  }
}
