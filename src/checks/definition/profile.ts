import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import { PACKAGE_ROOT } from '../../package/root.ts'
import type { Fault } from '../../text/user-error.ts'

/**
 * What the published profile of Data Package v2 finds in a descriptor. The loader checks everything that Mahi uses;
 * this shows that a descriptor is also one for other software. It takes most of a second, so only a test of the
 * definition does it.
 */
export function findProfileFaults(folder: string): Fault[] {
  const profile = JSON.parse(
    readFileSync(new URL('definitions/profiles/datapackage-2.0.json', PACKAGE_ROOT), 'utf8'),
  )
  const validate = new Ajv({ allErrors: true, strict: false, validateFormats: false }).compile(profile)
  const descriptor = JSON.parse(readFileSync(join(folder, 'datapackage.json'), 'utf8'))
  if (validate(descriptor)) return []
  // A field that fits no type fails every alternative: the first failure of each place is enough.
  const places = new Map((validate.errors ?? []).map((error) => [error.instancePath, error]))
  return [...places.values()].map(({ instancePath, message }) => ({
    file: 'datapackage.json',
    ...(instancePath === '' ? {} : { field: instancePath.slice(1).replaceAll('/', '.') }),
    message: `${message ?? 'is not valid'} (Data Package 2.0)`,
  }))
}
