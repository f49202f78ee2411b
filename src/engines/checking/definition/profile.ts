import type { Node } from './node.ts'

/** A path within the package: neither absolute nor with parent folders. */
export const WITHIN = /^(?![/\\~.]|[A-Za-z]:)(?!.*(?:^|[/\\])\.\.(?:[/\\]|$))/
export const URL_PATH = /^(?:https?|ftp):\/\//i
const TIMESTAMP = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/i

/**
 * Reports what the profiles of Data Package 1.0 and 2.0 refuse in properties that Mahi does not use: a date that is none,
 * and a license without a name. Other values that only describe are ignored. The readers of fields and resources check
 * the others.
 */
export function assertProfile(root: Node): void {
  const created = root.get('created')
  const time = created.description()
  if (time !== undefined && (!TIMESTAMP.test(time) || Number.isNaN(Date.parse(time))))
    created.fault('must be a date and time such as 2025-02-17T09:30:00Z')
  assertLicenses(root)
  for (const resource of root.get('resources').list()) {
    assertLicenses(resource)
    for (const path of resource.get('path').listOrOne()) assertPath(path)
  }
}

/** Reports a path that leads out of the folder of its definition. */
export function assertPath(node: Node): string | undefined {
  const path = node.requiredText()
  if (path === '' || URL_PATH.test(path) || WITHIN.test(path)) return path
  return node.fault('must be a path within the folder of the definition, without .. and / at its start')
}

function assertLicenses(node: Node): void {
  const licenses = node.get('licenses')
  for (const license of Array.isArray(licenses.value) ? licenses.list() : []) {
    if (license.names().length > 0 && !license.get('name').present && !license.get('path').present)
      license.fault('must have a name or a path')
  }
}
