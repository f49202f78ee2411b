import { comment, type Document, nameOf, type Operation, toCamelCase, typeOfInput } from './render-types.ts'

/** The name of the function for each operation that is one request, by the group that has it. */
const FUNCTIONS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Occupation: {
    get: 'getOccupation',
    groups: 'listOccupationGroups',
    group: 'getOccupationGroup',
    revisions: 'listOccupationRevisions',
    revision: 'getOccupationRevision',
    search: 'searchOccupations',
    suggest: 'suggestOccupations',
    code: 'codeTitles',
    confirmCodings: 'confirmCodings',
    confirmedCodings: 'listConfirmedCodings',
    withdrawCoding: 'withdrawCoding',
  },
  Submission: {
    list: 'listSubmissions',
    get: 'getSubmission',
    delete: 'deleteSubmission',
    submit: 'submitSubmission',
    receipt: 'getSubmissionReceipt',
    reopen: 'reopenSubmission',
    activity: 'listSubmissionActivity',
    putRecords: 'addSubmissionRecords',
    deleteRecords: 'deleteSubmissionRecords',
    undoRepairs: 'undoRepairs',
    work: 'getFileWork',
    runs: 'listValidationRuns',
    run: 'getValidationRun',
    cancelRun: 'cancelValidationRun',
    summary: 'getValidationResultsSummary',
    causes: 'getValidationResultsCauses',
    changes: 'getValidationResultsChanges',
    findings: 'listFindings',
    learners: 'listLearners',
    explanations: 'listExplanations',
    explanation: 'getExplanation',
    explain: 'putExplanation',
    withdrawExplanation: 'deleteExplanation',
    returns: 'listReturns',
    describeReturn: 'putReturn',
    returnOverview: 'getReturnOverview',
    returnCauses: 'getReturnCauses',
    rules: 'listRules',
    rule: 'getRule',
    me: 'getCaller',
    overview: 'getOverview',
    organisations: 'listOrganisations',
    organisation: 'getOrganisation',
    suspendOrganisation: 'suspendOrganisation',
    resumeOrganisation: 'resumeOrganisation',
  },
}

/** The operations that the client's own code sends: they need more than one request, or its response is looked into. */
export const WRITTEN_BY_HAND = [
  'listOccupations',
  'listOccupationChanges',
  'getOccupationSnapshot',
  'getValidationResults',
  'createSubmission',
  'putSubmissionFiles',
  'putSubmissionFile',
  'getSubmissionFile',
  'getMarkedFiles',
  'getCorrectedFiles',
  'getRepairs',
  'repairFiles',
  'requestValidationRun',
] as const

interface Request {
  readonly method: string
  readonly path: string
  readonly operation: Operation
}

/** The TypeScript source of the functions that send one request each. */
export function renderOperations({ paths = {} }: Document): string {
  const requests = new Map(
    Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]): [string, Request] => [
        operation.operationId ?? '',
        { method: method.toUpperCase(), path, operation },
      ]),
    ),
  )
  const known = new Set<string>([...WRITTEN_BY_HAND, ...Object.values(FUNCTIONS).flatMap(Object.values)])
  const missing = [...requests.keys()].filter((id) => !known.has(id))
  if (missing.length > 0)
    throw new Error(`client/render-operations.ts names no function for ${missing.join()}`)

  const types = new Set<string>()
  const groups = Object.entries(FUNCTIONS).map(([group, functions]) => {
    const rendered = Object.entries(functions).flatMap(([name, id]) => {
      const request = requests.get(id)
      return request === undefined ? [] : [renderFunction(name, request, types)]
    })
    return `export function create${group}Operations(call: Call) {\n  return {\n${rendered.join('')}  }\n}\n`
  })
  const imported = [...types].sort().map((name) => `  ${name},\n`)
  return [
    "// Written by `npm run openapi` from openapi.json: a function for each operation that is one request.\nimport type { Call, CallOptions } from './request.ts'\n",
    `import type {\n${imported.join('')}} from './types.ts'\n\n`,
    ...groups.join('\n'),
    `\n${renderNames(requests)}`,
  ].join('')
}

function renderFunction(name: string, { method, path, operation }: Request, types: Set<string>): string {
  const { operationId = '', description, parameters = [], responses = {} } = operation
  const success = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1]
  const result = nameOf(success?.content?.['application/json']?.schema.$ref ?? '')
  const query = typeOfInput(operation, 'query')
  const body = typeOfInput(operation, 'body')
  const hasMatch = parameters.some((each) => each.name === 'If-Match')
  for (const type of [result, query?.name, body?.name])
    if (type !== undefined && !type.startsWith('{')) types.add(type)

  const parts = parameters.filter((each) => each.in === 'path')
  const input = (label: string, { name, isOptional }: { name: string; isOptional: boolean }) =>
    `${label}: ${name}${isOptional ? ' = {}' : ''}`
  const given = [
    ...parts.map((each) => `${each.name}: ${each.schema.type === 'integer' ? 'number' : 'string'}`),
    ...(body === undefined ? [] : [input('body', body)]),
    ...(query === undefined ? [] : [input('query', query)]),
    hasMatch
      ? '{ ifMatch, ...options }: CallOptions & { ifMatch?: string | undefined } = {}'
      : 'options?: CallOptions',
  ]
  const segments = path
    .split('/')
    .slice(2)
    .map((part) => /^\{(\w+)\}$/.exec(part)?.[1] ?? `'${part}'`)
  const sent = [
    '...options',
    ...(body === undefined ? [] : ['body']),
    ...(query === undefined ? [] : ['query: nameParameters(query)']),
    ...(hasMatch ? ["headers: ifMatch === undefined ? {} : { 'if-match': ifMatch }"] : []),
  ]
  if (result === '')
    throw new Error(`${operationId}: a function that sends one request needs a JSON response`)
  const request = sent.length === 1 ? 'options' : `{ ${sent.join(', ')} }`
  return `${comment(description, '    ')}    ${name}: (${given.join(', ')}) =>
      call<${result}>('${method}', [${segments.join(', ')}], ${request}),\n`
}

/** The parameters of the API whose names are others here, and the function that names them. */
function renderNames(requests: ReadonlyMap<string, Request>): string {
  const names = new Set(
    [...requests.values()].flatMap(({ operation }) =>
      (operation.parameters ?? []).filter((each) => each.in === 'query').map((each) => each.name),
    ),
  )
  // The service ignores the case of names, so one that some operations spell as here needs no other.
  const renamed = [...names].filter((name) => !names.has(toCamelCase(name)))
  const lines = renamed.map((name) => `  ['${toCamelCase(name)}', '${name}'],\n`).sort()
  return `const PARAMETERS: ReadonlyMap<string, string> = new Map([
${lines.join('')}])

/** A name that does not exist is sent too: the service refuses it, where leaving it out would list everything. */
export function nameParameters(query: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(query).map(([name, value]) => [PARAMETERS.get(name) ?? name, value]))
}
`
}
