import { gzipSync } from 'node:zlib'
import { deriveToken, TOKEN_FIELD } from '../../src/console/form-token.ts'
import { collide } from '../../test/support/colliding.ts'
import { SDR_FILES } from '../../test/support/sdr/file-types.ts'
import { type Attack, attack } from './attack.ts'
import { call, exchange, hold, repeat, request, type Target, Wire } from './wire.ts'

const MB = 2 ** 20
const CSV = { 'content-type': 'text/csv' }
const GZIP_CSV = { ...CSV, 'content-encoding': 'gzip' }
const NDJSON = { 'content-type': 'application/x-ndjson' }
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const JSON_TYPE = { 'content-type': 'application/json' }

/** Months in which returns of the samples' definition are due. */
const MONTHS = ['03', '04', '08', '12']

let returns = 0

/** A new submission of the attacker's organisation; an empty text beyond its limit. */
async function submit(target: Target, definition?: string): Promise<string> {
  const number = process.pid * 7 + returns++
  const returnId = `20${String(number % 100).padStart(2, '0')}${MONTHS[Math.floor(number / 100) % MONTHS.length]}`
  const body = JSON.stringify({ returnId, definition })
  const created = await call(target, 'POST', '/v1/submissions', body, JSON_TYPE)
  // Otherwise the attack would be one on nothing.
  if (created.status === 400) throw new Error(`no submission of ${returnId}: ${created.body}`)
  return created.status < 300 && created.status > 0
    ? (JSON.parse(created.body) as { submissionToken: string }).submissionToken
    : ''
}

/** The cookie of a session of the console; empty if there is none. */
async function signIn({ port, key }: Target): Promise<string> {
  const url = `http://127.0.0.1:${port}`
  const response = await fetch(`${url}/console/sign-in`, {
    method: 'POST',
    redirect: 'manual',
    headers: { ...FORM, origin: url },
    body: new URLSearchParams({ key }),
  }).catch(() => undefined)
  return response?.headers.getSetCookie()[0]?.split(';', 1)[0] ?? ''
}

const fileOf = (token: string, index: number) =>
  `/v1/submissions/${token}/files/${SDR_FILES[index % SDR_FILES.length]}`
const recordsOf = (token: string, index: number) =>
  `/v1/submissions/${token}/records/${SDR_FILES[index % SDR_FILES.length]}`

async function several(target: Target, count: number): Promise<string[]> {
  const tokens = await Promise.all(Array.from({ length: count }, () => submit(target)))
  return tokens.filter((token) => token !== '')
}

const wide = (count: number) => Array.from({ length: count }, (_, at) => `,${at.toString(36)}`).join('')

interface Run {
  readonly status?: string
  readonly totalCount?: number
  readonly dateStarted?: string
  readonly dateCompleted?: string
}

/** Requests a run and waits for its end, for 30 seconds at most; empty if there is none. */
async function check(target: Target, token: string): Promise<Run> {
  const requested = await call(target, 'POST', `/v1/submissions/${token}/validation-runs`)
  if (requested.status !== 202) return {}
  const { runId } = JSON.parse(requested.body) as { runId: number }
  const path = `/v1/submissions/${token}/validation-runs/${runId}`
  const { status, body } = await call(target, 'GET', path, undefined, { prefer: 'wait=30' })
  return status === 200 ? (JSON.parse(body) as Run) : {}
}

/** The longest that a check of a small file may take alone, in milliseconds. */
const LONGEST_CHECK = 15_000

/** @throws if a run of a small file took long, or has not ended */
function assertShort(run: Run, { alone }: Target): void {
  if (!alone || run.dateStarted === undefined) return
  const took = Date.parse(run.dateCompleted ?? new Date().toISOString()) - Date.parse(run.dateStarted)
  if (took > LONGEST_CHECK) throw new Error(`a run took ${took} ms, and is ${run.status}`)
}

/** What a caller with one key can do, within the limits of that key. */
export const KEYED: readonly Attack[] = [
  attack(
    'stalled-uploads',
    'key',
    'uploads that stall hold a share of the slots, whoever sends them',
    async (target, signal) => {
      const tokens = await several(target, 60)
      const line = `${'x'.repeat(200)}\n`
      const part = Buffer.from(line.repeat(Math.floor((MB - 10) / line.length)))
      const packed = gzipSync(part)
      await hold(
        target,
        signal,
        300,
        (index) =>
          Buffer.concat([
            request(target, 'PUT', fileOf(tokens[Math.floor(index / 5) % tokens.length] ?? '', index), {
              ...CSV,
              'content-length': 2 * MB,
              ...(index % 2 === 0 && { 'content-encoding': 'gzip' }),
            }),
            index % 2 === 0 ? packed : part,
          ]),
        { each: 10 },
      )
    },
  ),
  attack(
    'slow-uploads',
    'key',
    'a key with three organisations that sends a byte at a time leaves upload slots to others',
    async (target, signal) => {
      const organisations = target.eids.map((eid) => ({ ...target, eid }))
      const tokens = await Promise.all(organisations.map((each) => several(each, 8)))
      const wires = organisations.flatMap((each, index) =>
        Array.from({ length: 16 }, (_, at) => {
          const wire = new Wire(each)
          const path = fileOf(tokens[index]?.[at % 8] ?? '', Math.floor(at / 8))
          void wire.send(request(each, 'PUT', path, { ...CSV, 'content-length': MB }))
          return wire
        }),
      )
      await repeat(signal, 1, async () => {
        await Promise.all(wires.map((wire) => (wire.closed ? undefined : wire.send('x'))))
        await new Promise((resolve) => setTimeout(resolve, 500))
      })
    },
    { upload: 3_000 },
  ),
  attack(
    'batches-in-line',
    'key',
    'batches of one key that wait for a file hold no connections that others need',
    async (target, signal) => {
      const line = `${'x'.repeat(40)}\n`
      const file = gzipSync(
        `localId,name\n${Array.from({ length: 400_000 }, (_, at) => `L${at},${line}`).join('')}`,
        { level: 1 },
      )
      await repeat(signal, 1, async () => {
        const tokens = await several(target, 3)
        await Promise.all(tokens.map((token) => call(target, 'PUT', fileOf(token, 0), file, GZIP_CSV)))
        const content = JSON.stringify({ content: [{ localId: 'Z', name: 'b' }] })
        const batches = Array.from({ length: 24 }, (_, at) =>
          call(target, 'POST', recordsOf(tokens[at % 3] ?? '', 0), content, JSON_TYPE),
        )
        await Promise.all(batches)
      })
    },
    { unavailable: 5 },
  ),
  attack(
    'gzip-bombs',
    'key',
    'what unpacks to 200 MB is read in turns or refused',
    async (target, signal) => {
      const tokens = await several(target, 8)
      const bombs = [
        gzipSync(Buffer.alloc(200 * MB)),
        gzipSync(Buffer.alloc(200 * MB, '\n')),
        gzipSync(Buffer.alloc(200 * MB, '"')),
        gzipSync(Buffer.alloc(200 * MB, '{}\n')),
      ]
      await repeat(signal, 8, async (line, round) => {
        const index = line + round
        const type = index % 4 === 3 ? NDJSON : CSV
        const headers = { ...type, 'content-encoding': 'gzip' }
        const file = fileOf(tokens[line] ?? '', round)
        await exchange(target, request(target, 'PUT', file, headers, bombs[index % 4]))
      })
    },
  ),
  attack('stalled-batches', 'key', 'batches that stall do not fill the memory', async (target, signal) => {
    const tokens = await several(target, 4)
    const part = Buffer.alloc(8 * MB - 1000, ' ')
    await hold(
      target,
      signal,
      100,
      (index) =>
        Buffer.concat([
          request(target, 'POST', recordsOf(tokens[index % 4] ?? '', index), {
            ...JSON_TYPE,
            'content-length': 8 * MB,
          }),
          part,
        ]),
      { each: 10 },
    )
  }),
  attack('batches', 'key', 'the largest batches are stored in turns', async (target, signal) => {
    const tokens = await several(target, 4)
    const filler = 'x'.repeat(8_000)
    let number = 0
    await repeat(signal, 8, async (line, round) => {
      const content = Array.from({ length: 1000 }, () => ({
        localId: `id-${number++}`.padEnd(200, '.'),
        filler,
      }))
      const body = JSON.stringify({ content: content.slice(0, round % 2 === 0 ? 1000 : 990) })
      await call(target, 'POST', recordsOf(tokens[line % 4] ?? '', line), body, JSON_TYPE)
    })
  }),
  attack(
    'strange-batches',
    'key',
    'batches with millions of values are parsed in turns or refused',
    async (target, signal) => {
      const tokens = await several(target, 4)
      const bodies = [
        `{"content":[${'{},'.repeat(2_700_000)}{}]}`,
        `{"content":[{"localId":"1",${Array.from({ length: 550_000 }, (_, at) => `"f${at}":${at % 10}`).join()}}]}`,
        `{"content":[${Array.from({ length: 500_000 }, (_, at) => `{"a${at}":1}`).join()}]}`,
        `{"content":[{"localId":"1","a":${'['.repeat(4_000_000)}${']'.repeat(4_000_000)}}]}`,
      ]
      await repeat(signal, 4, async (line, round) => {
        await call(
          target,
          'POST',
          recordsOf(tokens[line % 4] ?? '', line),
          bodies[(line + round) % 4],
          JSON_TYPE,
        )
      })
    },
  ),
  attack(
    'batch-after-upload',
    'key',
    'the first batch indexes a file of millions of records in steps',
    async (target, signal) => {
      await repeat(signal, 1, async () => {
        const token = await submit(target)
        let rows = 'learner_id\n'
        const parts: Buffer[] = []
        for (let id = 0; id < 6_000_000; id++) {
          rows += `${id.toString(36)}\n`
          if (rows.length > MB) {
            parts.push(gzipSync(rows, { level: 1 }))
            rows = ''
          }
        }
        await call(target, 'PUT', fileOf(token, 0), Buffer.concat(parts), GZIP_CSV)
        const content = [{ localId: 'a', name: 'b' }]
        await call(target, 'POST', recordsOf(token, 0), JSON.stringify({ content }), JSON_TYPE)
      })
    },
  ),
  attack('conversions', 'key', 'conversions of wide files leave time for others', async (target, signal) => {
    const [wide = '', sparse = ''] = await several(target, 2)
    const names = Array.from({ length: 200 }, (_, at) => `c${at}`.padEnd(1_200, 'x'))
    const rows = `${'1,'.repeat(199)}1\n`.repeat(50_000)
    await call(target, 'PUT', fileOf(wide, 0), gzipSync(`${names.join()}\n${rows}`), GZIP_CSV)
    const fields = Array.from({ length: 400_000 }, (_, at) => `{"field_${at}":1}`).join('\n')
    await call(target, 'PUT', fileOf(sparse, 0), gzipSync(fields), { ...NDJSON, 'content-encoding': 'gzip' })
    await repeat(signal, 4, async (line) => {
      const wire = new Wire(target)
      const [token, type] = line % 2 === 0 ? [wide, NDJSON] : [sparse, CSV]
      await wire.send(request(target, 'GET', fileOf(token, 0), { accept: type['content-type'] }))
      await Promise.race([wire.status(), new Promise((resolve) => setTimeout(resolve, 3_000))])
      wire.close()
    })
  }),
  attack('largest-pages', 'key', 'the largest pages of findings do not fill the memory', (target, signal) =>
    repeat(signal, 8, async (line, round) => {
      const wire = new Wire(target)
      const path = `/v1/submissions/${target.token}/validation-results?pageSize=${1000 - ((line + round * 8) % 500)}`
      await wire.send(request(target, 'GET', path, { 'accept-encoding': line % 2 === 0 ? 'br' : 'identity' }))
      if (line % 4 === 0) await wire.status()
      else await new Promise((resolve) => setTimeout(resolve, 500))
      wire.close()
    }),
  ),
  attack(
    'stopped-exports',
    'key',
    'the kernel holds a bounded part of exports that nobody reads',
    (target, signal) =>
      hold(
        target,
        signal,
        200,
        (index) =>
          request(target, 'GET', `/v1/submissions/${target.token}/validation-results`, {
            accept: index % 2 === 0 ? 'text/csv' : 'application/x-ndjson',
          }),
        { each: 50 },
      ),
  ),
  attack('filters', 'key', 'pages of filtered findings leave time for others', (target, signal) =>
    repeat(signal, 8, async (line, round) => {
      const path = `/v1/submissions/${target.token}/validation-results?pageSize=1000&Filter.ErrorCode=E${(line + round) % 50}&Filter.ErrorType=Error`
      await call(target, 'GET', path)
    }),
  ),
  attack(
    'waits',
    'key',
    'requests that wait for a run hold nothing that others need',
    async (target, signal) => {
      const token = await submit(target)
      await call(target, 'PUT', fileOf(token, 0), 'learner_id\n1\n', CSV)
      await call(target, 'POST', `/v1/submissions/${token}/validation-runs`)
      await hold(
        target,
        signal,
        500,
        () => request(target, 'GET', `/v1/submissions/${token}/validation-runs/1`, { prefer: 'wait=30' }),
        { each: 10 },
      )
    },
  ),
  attack(
    'runs',
    'key',
    'checks of large files stay within the memory of the worker',
    async (target, signal) => {
      const long = `${'"'.repeat(2)}${'x'.repeat(200_000)}`
      await repeat(signal, 2, async () => {
        const token = await submit(target)
        const rows = Array.from({ length: 400 }, (_, at) => `${at},${long}\n`).join('')
        await call(
          target,
          'PUT',
          fileOf(token, 0),
          gzipSync(`learner_id,name\n${rows}`, { level: 1 }),
          GZIP_CSV,
        )
        await call(target, 'POST', `/v1/submissions/${token}/validation-runs`)
        await call(target, 'GET', `/v1/submissions/${token}/validation-runs/1`, undefined, {
          prefer: 'wait=30',
        })
        await call(target, 'GET', `/v1/submissions/${token}/validation-results?pageSize=1000`)
      })
    },
  ),
  attack(
    'wide-headers',
    'key',
    'a faulty header, however wide, is a few findings and a few kilobytes',
    async (target, signal) => {
      const headers = [','.repeat(262_000), ',localId'.repeat(30_000), wide(40_000)]
      const files = headers.map((header) => gzipSync(`localId${header}\nL1\n`, { level: 9 }))
      await repeat(signal, 2, async (line, round) => {
        const token = await submit(target)
        await call(target, 'PUT', fileOf(token, 4), files[(line + round) % files.length], GZIP_CSV)
        const run = await check(target, token)
        const { totalCount = 0 } = run
        if (totalCount > 100) throw new Error(`a header of ${totalCount} findings`)
        assertShort(run, target)
      })
    },
    { growth: 64 * MB },
  ),
  attack(
    'quadratic-lines',
    'key',
    'no bytes of a file make a reader search the same text again and again',
    async (target, signal) => {
      // 4 KB each. Every reader passes over as many lines as it can look ahead from.
      const pieces = ['a\n', '"a\n', '""', 'a"\n', ',\n'].map((text) => text.repeat((4 * MB) / text.length))
      const files = pieces.map((piece) => gzipSync(`localId\n${piece}\n"`, { level: 9 }))
      const tokens = await several(target, 4)
      await repeat(signal, 4, async (line, round) => {
        const token = tokens[line % tokens.length] ?? ''
        await call(target, 'PUT', fileOf(token, line), files[(line + round) % files.length], GZIP_CSV)
        const content = JSON.stringify({ content: [{ localId: 'z' }] })
        await call(target, 'POST', recordsOf(token, line), content, JSON_TYPE)
        await Promise.all(
          Array.from({ length: 3 }, () =>
            call(target, 'GET', fileOf(token, line), undefined, { accept: NDJSON['content-type'] }),
          ),
        )
      })
    },
  ),
  attack(
    'deep-records',
    'key',
    'JSON that is too deep is a fault of its record, and never a 500',
    async (target, signal) => {
      const tokens = await several(target, 4)
      const deep = (levels: number) => `{"localId":"a","x":${'['.repeat(levels)}${']'.repeat(levels)}}`
      await repeat(signal, 4, async (line, round) => {
        const token = tokens[line % tokens.length] ?? ''
        const record = deep([90, 5_000, 60_000][round % 3] ?? 0)
        const answers = [
          await call(target, 'PUT', fileOf(token, line), `${record}\n`, NDJSON),
          await call(target, 'POST', recordsOf(token, line), `{"content":[${record}]}`, JSON_TYPE),
          await call(target, 'GET', fileOf(token, line), undefined, { accept: CSV['content-type'] }),
        ]
        const failed = answers.find(({ status }) => status === 500)
        if (failed !== undefined) throw new Error(`deep JSON: ${failed.body.slice(0, 200)}`)
      })
    },
  ),
  attack('inherited-names', 'key', 'a record has no field that nobody sent', async (target, signal) => {
    const tokens = await several(target, 4)
    const names = Object.getOwnPropertyNames(Object.prototype)
    const fields = names.map((name) => `${JSON.stringify(name)}:"own"`).join()
    const lines = `{"localId":"1",${fields}}\n{"localId":"2"}\n`
    const rows = `localId,${names.join()}\n1${',own'.repeat(names.length)}\n`
    const batch = '{"content":[{"localId":"3"}]}'
    await repeat(signal, 4, async (line, round) => {
      const token = tokens[line % tokens.length] ?? ''
      const [body, type] = round % 2 === 0 ? [lines, NDJSON] : [rows, CSV]
      await call(target, 'PUT', fileOf(token, line), body, type)
      await call(target, 'POST', recordsOf(token, line), batch, JSON_TYPE)
      for (const { 'content-type': accept } of [CSV, NDJSON]) {
        const read = await call(target, 'GET', fileOf(token, line), undefined, { accept })
        const found = /native code|\[object/.exec(read.body)
        if (read.status === 500 || found !== null) throw new Error(`inherited names: ${read.status} ${found}`)
      }
    })
  }),
  attack('colliding-keys', 'key', 'chosen identifiers do not make a check slower', async (target, signal) => {
    const stops = collide(16).map((id) => `${id},A stop,-41.3,174.8\n`)
    const file = gzipSync(`stop_id,stop_name,stop_lat,stop_lon\n${stops.join('')}`, { level: 1 })
    await repeat(signal, 2, async () => {
      const token = await submit(target, 'gtfs')
      const path = `/v1/submissions/${token}/files/stops`
      await call(target, 'PUT', path, file, GZIP_CSV)
      assertShort(await check(target, token), target)
    })
  }),
  attack(
    'header-rows',
    'key',
    'the console keeps no header rows, whatever files it shows',
    async (target, signal) => {
      const token = await submit(target)
      const cookie = await signIn(target)
      await repeat(signal, 1, async (_, round) => {
        const names = Array.from({ length: 220_000 }, (_, at) => (round * 220_000 + at).toString(36))
        const file = gzipSync(`${names.join()},localId\n1,2\n`, { level: 1 })
        await call(target, 'PUT', `/v1/submissions/${token}/files/learners`, file, GZIP_CSV)
        await check(target, token)
        const path = `/console/submissions/${token}/findings?file=Learner`
        await call({ ...target, key: '' }, 'GET', path, undefined, { cookie })
      })
    },
  ),
  attack(
    'sessions',
    'key',
    'sessions of the console leave memory and time for others',
    async (target, signal) => {
      const headers = { ...FORM, origin: 'http://localhost' }
      await repeat(signal, 8, async (_, round) => {
        const wire = new Wire({ ...target, key: '' })
        const cookie = await signIn(target)
        if (cookie !== '') {
          const titles = Array.from({ length: 3000 }, (_, at) => `title ${at * round}`).join('\n')
          const path = round % 2 === 0 ? '/console/code' : '/console/submissions'
          const token = deriveToken(cookie.split('=')[1] ?? '')
          const form = `${TOKEN_FIELD}=${token}&titles=${encodeURIComponent(titles)}`
          const anonymous = { ...target, key: '' }
          await wire.send(
            round % 2 === 0
              ? request(anonymous, 'POST', path, { ...headers, cookie }, form)
              : request(anonymous, 'GET', path, { cookie }),
          )
          await new Promise((resolve) => setTimeout(resolve, 300))
        }
        wire.close()
      })
    },
  ),
]
