import { readFileSync } from 'node:fs'
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

/** A call of the client for each operation. */
const CALLS: Readonly<Record<string, (client: Client) => Promise<unknown>>> = {
  listOccupations: ({ occupations }) => occupations.list(),
  getOccupation: ({ occupations }) => occupations.get('a'),
  listOccupationGroups: ({ occupations }) => occupations.groups(),
  getOccupationGroup: ({ occupations }) => occupations.group('a'),
  listOccupationChanges: ({ occupations }) => occupations.changes(),
  getOccupationSnapshot: ({ occupations }) => occupations.snapshot(),
  listOccupationRevisions: ({ occupations }) => occupations.revisions(),
  getOccupationRevision: ({ occupations }) => occupations.revision(1),
  searchOccupations: ({ occupations }) => occupations.search({ q: 'a' }),
  suggestOccupations: ({ occupations }) => occupations.suggest({ q: 'a' }),
  codeTitles: ({ occupations }) => occupations.code({ items: [{ title: 'a' }] }),
  confirmCodings: ({ occupations }) => occupations.confirmCodings({ items: [{ title: 'a' }] }),
  listConfirmedCodings: ({ occupations }) => occupations.confirmedCodings(),
  withdrawCoding: ({ occupations }) => occupations.withdrawCoding('a'),
  getValidationResults: ({ validationResults }) => validationResults.page('a'),
  getValidationResultsCauses: ({ submissions }) => submissions.causes('a'),
  getValidationResultsSummary: ({ submissions }) => submissions.summary('a'),
  getValidationResultsChanges: ({ submissions }) => submissions.changes('a'),
  listFindings: ({ submissions }) => submissions.findings('a'),
  listLearners: ({ submissions }) => submissions.learners('a'),
  createSubmission: ({ submissions }) => submissions.create({ returnId: 'a' }),
  listSubmissions: ({ submissions }) => submissions.list(),
  getSubmission: ({ submissions }) => submissions.get('a'),
  deleteSubmission: ({ submissions }) => submissions.delete('a'),
  submitSubmission: ({ submissions }) => submissions.submit('a'),
  listSubmissionActivity: ({ submissions }) => submissions.activity('a'),
  listExplanations: ({ submissions }) => submissions.explanations('a'),
  getExplanation: ({ submissions }) => submissions.explanation('a', 'a'),
  putExplanation: ({ submissions }) => submissions.explain('a', 'a', { reason: 'Verified' }),
  deleteExplanation: ({ submissions }) => submissions.withdrawExplanation('a', 'a'),
  getSubmissionReceipt: ({ submissions }) => submissions.receipt('a'),
  reopenSubmission: ({ submissions }) => submissions.reopen('a', { reason: 'a' }),
  listReturns: ({ submissions }) => submissions.returns(),
  putReturn: ({ submissions }) =>
    submissions.describeReturn('a', { name: 'a', definition: 'a', opens: 'a', closes: 'a' }),
  getReturnOverview: ({ submissions }) => submissions.returnOverview('a'),
  getReturnCauses: ({ submissions }) => submissions.returnCauses('a'),
  putSubmissionFile: ({ submissions }) => submissions.putFile('a', 'a', ''),
  putSubmissionFiles: ({ submissions }) => submissions.putFiles('a', ''),
  getSubmissionFile: ({ submissions }) => submissions.getFile('a', 'a'),
  getMarkedFiles: ({ submissions }) => submissions.markedFiles('a'),
  getCorrectedFiles: ({ submissions }) => submissions.correctedFiles('a'),
  getRepairs: ({ submissions }) => submissions.repairs('a'),
  repairFiles: ({ submissions }) => submissions.repair('a'),
  undoRepairs: ({ submissions }) => submissions.undoRepairs('a'),
  getFileWork: ({ submissions }) => submissions.work('a', 'a'),
  addSubmissionRecords: ({ submissions }) => submissions.putRecords('a', 'a', []),
  deleteSubmissionRecords: ({ submissions }) => submissions.deleteRecords('a', 'a', []),
  requestValidationRun: ({ submissions }) => submissions.validate('a'),
  listValidationRuns: ({ submissions }) => submissions.runs('a'),
  getValidationRun: ({ submissions }) => submissions.run('a', 1),
  cancelValidationRun: ({ submissions }) => submissions.cancelRun('a', 1),
  listRules: ({ submissions }) => submissions.rules(),
  getRule: ({ submissions }) => submissions.rule('a'),
  getCaller: ({ submissions }) => submissions.me(),
  getOverview: ({ submissions }) => submissions.overview(),
  listOrganisations: ({ submissions }) => submissions.organisations(),
  getOrganisation: ({ submissions }) => submissions.organisation('a'),
  suspendOrganisation: ({ submissions }) => submissions.suspendOrganisation('a'),
  resumeOrganisation: ({ submissions }) => submissions.resumeOrganisation('a'),
}

/** Which operations of a document the client does not call, or calls with another method or path. */
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
  for (const { id, method, path } of operationsOf(document)) {
    const call = CALLS[id]
    if (call === undefined) {
      faults.push(
        `${id}: the client has no method for ${method} ${path}; test/support/described.ts lists them`,
      )
      continue
    }
    sent = 'nothing'
    await call(client).catch(() => undefined)
    if (!new RegExp(`^${method} ${matching(path)}$`).test(sent))
      faults.push(`${id}: its method of the client sends ${sent} instead of ${method} ${path}`)
  }
  return faults
}
