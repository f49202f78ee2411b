import { expect, onTestFinished, test } from 'vitest'
import { Cluster, hasCluster } from '../support/cluster.ts'
import { Installation, toLines, until } from '../support/command.ts'
import { checkPage, fillDatabase, UNLIMITED } from '../support/filled-database.ts'
import { ask, Load } from '../support/load.ts'

/** Reads reach the database each time, as no page is kept. */
const UNCACHED = { ...UNLIMITED, PAGE_CACHE_MB: '0', LOG_LEVEL: 'info' }

test.skipIf(!hasCluster)(
  'a PostgreSQL that is killed under load costs nothing but 503s, and nothing acknowledged',
  async () => {
    const cluster = await Cluster.start()
    onTestFinished(() => cluster.remove())
    const mahi = new Installation({ inProcesses: true })
    const DATABASE_URL = await cluster.createDatabase('killed')
    const { questions, headers } = await fillDatabase(DATABASE_URL)
    const { url } = await mahi.serve({ ...UNCACHED, DATABASE_URL })
    const load = new Load([url], questions, { check: checkPage })
    const writing = startWriting(mahi, DATABASE_URL)

    await writing.untilMore(2)
    await cluster.kill()
    await load.untilMore('unavailable', 50)
    await cluster.start()
    await load.untilMore('ok', 200)
    await writing.untilMore(2)
    const { codes, tokens, refused } = await writing.stop()
    const counts = await load.stop()

    expect(counts.otherwise).toEqual([])
    for (const code of codes) {
      const { body } = await ask(`${url}/v1/occupations?Limit=1&Cursor=${code}`, headers)
      expect(JSON.parse(body).data).toMatchObject([{ occupationCode: code }])
    }
    for (const { token, localId } of tokens) {
      const { body } = await ask(`${url}/v1/submissions/${token}/validation-results`, headers)
      expect(JSON.parse(body).results).toMatchObject([{ localId }])
    }
    // Each says so in one line, in the operator's terms.
    for (const line of refused) expect(line).toMatch(/^postgres:\/\/[^\n]+\n$/)
  },
)

/** Imports and publishes by real commands, one after the other, and what they acknowledged. */
function startWriting(mahi: Installation, DATABASE_URL: string) {
  const done = { codes: [] as string[], tokens: [] as { token: string; localId: string }[] }
  const refused: string[] = []
  let isOver = false
  const repeat = async (command: string, toRecord: (name: string) => object, note: Note) => {
    for (let number = 0; !isOver; number++) {
      const input = toLines([toRecord(`N${number}`)])
      const { code, stdout, stderr } = await mahi.run(command.split(' '), {
        input,
        environment: { DATABASE_URL },
      })
      if (code === 0) note(`N${number}`, stdout.trim())
      else refused.push(stderr)
    }
  }
  const loops = [
    repeat(
      'occupations import -',
      (occupationCode) => ({ occupationCode }),
      (code) => done.codes.push(code),
    ),
    repeat(
      'results publish --eid 1001 --return R1 -',
      (localId) => ({ localId }),
      (localId, token) => done.tokens.push({ token, localId }),
    ),
  ]
  return {
    /** Waits until so many more of each have been acknowledged. */
    untilMore: async (count: number) => {
      const [codes, tokens] = [done.codes.length, done.tokens.length]
      await until(() => done.codes.length >= codes + count && done.tokens.length >= tokens + count)
    },
    stop: async () => {
      isOver = true
      await Promise.all(loops)
      return { ...done, refused }
    },
  }
}

type Note = (name: string, stdout: string) => void
