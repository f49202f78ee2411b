import { readFileSync } from 'node:fs'
import { WRITTEN_BY_HAND } from '../../client/render-operations.ts'
import { type Client, createClient } from '../../client/src/index.ts'

interface Described {
  readonly operationId?: string
  readonly summary?: string
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[]
}

/** The part of an OpenAPI document that names its operations. */
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
}

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')

const operationsOf = ({ paths }: Document) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { operationId, summary, security }]) =>
      operationId === undefined
        ? []
        : [{ id: operationId, method: method.toUpperCase(), path, summary, scope: scopeOf(security) }],
    ),
  )

const scopeOf = (security: Described['security']) =>
  security?.flatMap(({ apiKey }) => apiKey ?? []).map((scope) => `\`${scope}\``)[0] ?? 'any'

/** A path of the document as an expression; a document may write its parameters in its own way. */
const matching = (path: string) =>
  path
    .split(/\{\w+\}/)
    .map((part) => RegExp.escape(part))
    .join('(?:\\{[^}]+\\}|[\\w%.-]+)')

/** What docs/api.md does not say of the operations of a document, or says wrongly. */
export function findGuideFaults(document: Document): string[] {
  const [before = '', after = ''] = read('docs/api.md').split(/^## Operations$/m, 2)
  const [table = '', ...rest] = after.split(/^(?=## )/m)
  const rows = new Map(
    [...table.matchAll(/^\| `(\w+ \/[^`]+)` \| (.*) \| (.*) \| \[.*\]\(([^)#]*)(?:#.*)?\) \|$/gm)].map(
      ([, request = '', summary, scope, guide = '']) => [request, { summary, scope, guide }],
    ),
  )
  const operations = operationsOf(document)
  const requests = operations.map(({ method, path }) => `${method} ${path}`)
  return [
    ...operations.flatMap(({ id, method, path, summary, scope }) => {
      const row = rows.get(`${method} ${path}`)
      const right = `\`${method} ${path}\` | ${summary} | ${scope}`
      if (row === undefined) return [`${id}: the table of operations in docs/api.md lacks ${right}`]
      if (row.summary !== summary || row.scope !== scope)
        return [`${id}: its row in docs/api.md should begin with ${right}`]
      const guide = row.guide === '' ? before + rest.join('') : read(`docs/${row.guide}`)
      if (new RegExp(`${matching(path)}(?![\\w/{])`).test(guide)) return []
      return [`${id}: its guide, docs/${row.guide || 'api.md'}, does not mention ${path}`]
    }),
    ...[...rows.keys()]
      .filter((request) => !requests.includes(request))
      .map((request) => `docs/api.md lists ${request}, which is no operation`),
  ]
}

/** A call of the client for each operation that its own code sends. */
const CALLS: Readonly<Record<(typeof WRITTEN_BY_HAND)[number], (client: Client) => Promise<unknown>>> = {
  listOccupations: ({ occupations }) => occupations.list(),
  listOccupationChanges: ({ occupations }) => occupations.changes(),
  getOccupationSnapshot: ({ occupations }) => occupations.snapshot(),
  getValidationResults: ({ validationResults }) => validationResults.page('a'),
  createSubmission: ({ submissions }) => submissions.create({ returnId: 'a' }),
  putSubmissionFiles: ({ submissions }) => submissions.putFiles('a', ''),
  putSubmissionFile: ({ submissions }) => submissions.putFile('a', 'a', ''),
  getSubmissionFile: ({ submissions }) => submissions.getFile('a', 'a'),
  getMarkedFiles: ({ submissions }) => submissions.markedFiles('a'),
  getCorrectedFiles: ({ submissions }) => submissions.correctedFiles('a'),
  getRepairs: ({ submissions }) => submissions.repairs('a'),
  repairFiles: ({ submissions }) => submissions.repair('a'),
  requestValidationRun: ({ submissions }) => submissions.validate('a'),
}

/** Which of these operations the client sends with another method or path than the document has. */
export async function findClientFaults(document: Document): Promise<string[]> {
  const faults: string[] = []
  let sent = ''
  const client = createClient({
    baseUrl: 'http://service.test',
    eid: '1001',
    fetch: async (url, { method = 'GET' }) => {
      sent = `${method} ${new URL(url).pathname}`
      return new Response('{}', { status: 404 })
    },
  })
  const described = operationsOf(document)
  for (const id of WRITTEN_BY_HAND) {
    const { method, path } = described.find((each) => each.id === id) ?? {
      method: 'no method',
      path: 'no path',
    }
    sent = 'nothing'
    await CALLS[id](client).catch(() => undefined)
    if (!new RegExp(`^${method} ${matching(path)}$`).test(sent))
      faults.push(`${id}: its method of the client sends ${sent} instead of ${method} ${path}`)
  }
  return faults
}
