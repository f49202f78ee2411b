import type { ParseOptions, SchemaOptions } from 'yaml'
import { refuse } from '../../foundation/faults/faults.ts'
import { loadYaml } from '../../foundation/package/when-used.ts'
import { explainYaml } from './explain-yaml.ts'

/**
 * Reads the YAML or JSON text of a file. Few commands need the parser, so that the others need not wait for it.
 *
 * @throws {InputRefused} if it is neither, with the line and the reason in words
 */
export function parseYaml(text: string, file: string, options: ParseOptions & SchemaOptions = {}): unknown {
  try {
    // JSON is YAML.
    return loadYaml().parse(text, options)
  } catch (error) {
    return refuse({ file, ...explainYaml(error, text) })
  }
}
