import { define } from './definition.ts'
import { startSubmissions } from './submissions.ts'

/** A field of at most eight characters, with a warning about longer ones. */
const short = (name: string, more: object = {}) => ({
  ...{ name, constraints: { maxLength: 8 } },
  'mahi:checks': { length: { severity: 'Warning', code: `LEA-${name}`, ...more } },
})
const required = (name: string) => ({ name, constraints: { required: true } })

/**
 * A definition of courses and learners whose warnings can be explained; one needs to be.
 *
 * @param rules the content of the files of its rules, by code
 */
export function makeCollectionDefinition(rules: Readonly<Record<string, string>> = {}): string {
  return define(
    {
      learners: {
        fields: [
          { name: 'localId' },
          required('id'),
          { name: 'course' },
          short('note', { needsExplanation: true }),
          short('remark'),
        ],
        primaryKey: ['id'],
        foreignKeys: [{ fields: ['course'], reference: { resource: 'courses', fields: ['code'] } }],
        resource: {
          'mahi:fileType': 'Learner',
          'mahi:record': { localId: 'localId', studentId: 'id', courseCode: 'course' },
        },
      },
      courses: {
        fields: [{ name: 'localId' }, required('code'), { name: 'title' }],
        primaryKey: ['code'],
        resource: { 'mahi:fileType': 'Course', 'mahi:record': { localId: 'localId', courseCode: 'code' } },
      },
    },
    { name: 'collected', version: '1.2.0', 'mahi:return': { default: '202512', pattern: '20[0-9]{4}' } },
    Object.fromEntries(Object.entries(rules).map(([code, sql]) => [`rules/${code}.sql`, sql])),
  )
}

export const COURSES = 'localId,code,title\nC1,K1,First\n'

/** A file of learners: so many records, of which the first have a note, and others a remark, that are too long. */
export function makeLearners({
  records = 20,
  notes = 0,
  remarks = 0,
  faults = 0,
}: {
  records?: number
  notes?: number
  remarks?: number
  faults?: number
} = {}): string {
  const rows = Array.from({ length: records }, (_, at) => {
    const course = at < faults ? 'K9' : 'K1'
    return `L${at},S${at},${course},${at < notes ? 'a long note' : ''},${at < remarks ? 'a long remark' : ''}\n`
  })
  return `localId,id,course,note,remark\n${rows.join('')}`
}

/**
 * A service that collects returns of the definition above, and a provider of them.
 *
 * @param works whether it has a worker
 * @param rules of the definition, by code
 * @param url of its database; by default one of its own
 */
export async function startCollection(
  environment: Record<string, string> = {},
  { works = true, url, rules }: { works?: boolean; url?: string; rules?: Record<string, string> } = {},
) {
  const started = await startSubmissions(makeCollectionDefinition(rules), environment, url)
  if (works) await started.work()
  return { ...started, provider: await started.createCaller('records', ['1001']) }
}

/** A submission with both files, which a worker has checked. */
export async function submitTo(
  { create, put, check }: Awaited<ReturnType<typeof startCollection>>['provider'],
  learners?: Parameters<typeof makeLearners>[0],
  returnId?: string,
): Promise<string> {
  const token = await create(returnId)
  await put(token, 'courses', COURSES)
  await put(token, 'learners', makeLearners(learners))
  await check(token)
  return token
}
