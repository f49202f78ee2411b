import type { Node } from './node.ts'

/** A path within the package: neither absolute nor with parent folders. */
export const WITHIN = /^(?![/\\~.]|[A-Za-z]:)(?!.*(?:^|[/\\])\.\.(?:[/\\]|$))/
export const URL_PATH = /^(?:https?|ftp):\/\//i

/** What identifies a license; before version 1.0 of the standard, it was one of the last three. */
const LICENSE_NAMES = ['name', 'path', 'id', 'type', 'url']

/**
 * Reports what other implementations of the standard refuse in a package although it only describes: a text that is no
 * time, and a license without a name. Whatever else only describes is ignored if it is wrong.
 */
export function assertProfile(root: Node): void {
  const created = root.get('created')
  if (typeof created.value === 'string' && !/^$|\d{4}/.test(created.value))
    created.fault('must be a date and time such as 2025-02-17T09:30:00Z')
  const licenses = root.get('licenses')
  for (const license of Array.isArray(licenses.value) ? licenses.list() : []) {
    const names = license.names()
    if (names.length > 0 && !names.some((name) => LICENSE_NAMES.includes(name)))
      license.fault('must have a name or a path')
  }
  for (const resource of root.get('resources').list())
    for (const path of resource.get('path').listOrOne()) assertPath(path)
}

/** Reports a path that leads out of the folder of its definition. */
export function assertPath(node: Node): string | undefined {
  const path = node.requiredText()
  if (path === '' || URL_PATH.test(path) || WITHIN.test(path)) return path
  return node.fault(
    'must be a path within the folder of the definition, without .. and with no /, ~ or . at its start',
  )
}
