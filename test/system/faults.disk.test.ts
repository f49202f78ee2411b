import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { ask, Installation, toLines } from '../support/command.ts'
import { canPlaceDatabase, placeDatabase } from '../support/database-on-disk.ts'
import { fillDatabase, UNLIMITED, withDatabase } from '../support/filled-database.ts'
import { SmallDisk } from '../support/small-disk.ts'
import { readState } from '../support/state.ts'

const NO_ROOM =
  /has no (?:disk space left|space left on its disk.*)\. Nothing was changed\. Free some space and run the command again\n$/
const IMPORT = ['occupations', 'import', '--replace', 'big.ndjson']
const PUBLISH = ['results', 'publish', '--eid', '1001', '--return', 'R1', 'big-run.ndjson']

/** An installation with input that takes some megabytes, also compressed. */
function installWithInput(): Installation {
  const mahi = new Installation({ inProcesses: true })
  const write = (file: string, id: string, text: string) => {
    const record = (index: number) => ({ [id]: `X${index}`, [text]: randomBytes(999).toString('hex') })
    mahi.write(file, toLines(Array.from({ length: 3000 }, (_, index) => record(index))))
  }
  write('big.ndjson', 'occupationCode', 'descriptionEnglish')
  write('big-run.ndjson', 'localId', 'recordText')
  return mahi
}

test.skipIf(!canPlaceDatabase)(
  'a full disk: commands say so, the old state is served, and with room they work again',
  async () => {
    const disk = SmallDisk.create(48)
    const url = await placeDatabase(disk)
    const mahi = installWithInput()
    const environment = { DATABASE_URL: url }
    const { headers, questions } = await fillDatabase(url)
    const before = await withDatabase(url, readState)
    const server = await mahi.serve({ ...environment, ...UNLIMITED, LOG_LEVEL: 'info', PAGE_CACHE_MB: '0' })
    const answers = async () =>
      await Promise.all(
        questions.map(async ({ path }) => {
          const response = await ask(server.url + path, { ...headers })
          return [response.status, await response.text()]
        }),
      )
    const answered = await answers()
    expect(answered.map(([status]) => status)).toEqual(questions.map(() => 200))

    for (const left of [2_000_000, 0]) {
      disk.fill(left)
      for (const command of [IMPORT, PUBLISH]) {
        const { code, stdout, stderr } = await mahi.run(command, { environment })
        expect([code, stdout, stderr]).toEqual([1, '', expect.stringMatching(NO_ROOM)])
      }
      expect(await answers()).toEqual(answered)
      expect((await ask(`${server.url}/readyz`)).status).toBe(200)
      const now = await withDatabase(url, readState)
      expect({ ...now, revisions: now.revisions.catalogue }).toEqual({
        ...before,
        revisions: before.revisions.catalogue,
      })
      disk.empty()
    }

    expect(await mahi.run(IMPORT, { environment })).toMatchObject({ code: 0 })
    expect(await mahi.run(PUBLISH, { environment })).toMatchObject({ code: 0 })
    const after = await withDatabase(url, readState)
    expect([after.catalogue.size, after.submissions.size]).toEqual([3000, 2])
    expect(await server.command.stop()).toBe(0)
  },
)
