import type { Node } from './node.ts'

/** A path within the package: neither absolute nor with parent folders. */
export const WITHIN = /^(?![/\\~.]|[A-Za-z]:)(?!.*(?:^|[/\\])\.\.(?:[/\\]|$))/
export const URL_PATH = /^(?:https?|ftp):\/\//i
const TIMESTAMP = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/i

/**
 * Reports what the profiles of Data Package 1.0 and 2.0 refuse in properties that Mahi does not use, so that other
 * software can read every definition that Mahi reads. The readers of fields and resources check the others.
 */
export function assertProfile(root: Node): void {
  for (const name of ['$schema', 'profile', 'id', 'title', 'description', 'homepage', 'image'])
    root.get(name).text()
  const created = root.get('created')
  const time = created.text()
  if (time !== undefined && (!TIMESTAMP.test(time) || Number.isNaN(Date.parse(time))))
    created.fault('must be a date and time such as 2025-02-17T09:30:00Z')
  root.get('keywords').texts()
  assertDescribed(root)
  for (const contributor of root.get('contributors').list()) assertFilled(contributor)
  for (const resource of root.get('resources').list()) {
    for (const name of ['profile', 'title', 'description', 'homepage', 'format', 'mediatype'])
      resource.get(name).text()
    assertDescribed(resource)
    for (const path of resource.get('path').listOrOne()) assertPath(path)
  }
}

/** Reports a path that leads out of the folder of its definition. */
export function assertPath(node: Node): string | undefined {
  const path = node.requiredText()
  if (path === '' || URL_PATH.test(path) || WITHIN.test(path)) return path
  return node.fault('must be a path within the folder of the definition, without .. and / at its start')
}

function assertDescribed(node: Node): void {
  for (const source of node.get('sources').list()) assertFilled(source)
  const licenses = node.get('licenses')
  if (licenses.present && licenses.list().length === 0) licenses.fault('must not be empty')
  for (const license of licenses.list()) {
    if (license.object() !== undefined && !license.get('name').present && !license.get('path').present)
      license.fault('must have a name or a path')
  }
}

function assertFilled(node: Node): void {
  if (node.object() !== undefined && node.names().length === 0) node.fault('must have a property')
}
