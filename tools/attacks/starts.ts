import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Place } from '../../bench/empty-database.ts'
import { importOccupations } from '../../src/catalogue/import/import.ts'
import { openDatabase } from '../../src/foundation/database/open.ts'
import { sourceOf } from '../../test/support/source.ts'
import { whenSearchable } from '../../test/support/when-searchable.ts'
import { Bystander } from './bystander.ts'
import { judge, USUAL } from './promises.ts'
import { type AttackOptions, type AttackResult, SERVE_LIMIT, SOURCES } from './result.ts'
import { Watched } from './watched.ts'

const NOTHING = { work: 0, sockets: undefined, health: 0, response: 0, ratio: 1, unavailable: 0 } as const

/** How long `/readyz` is asked beside a dead standby, in milliseconds: longer than its connections are tried. */
const BESIDE = 6_000

function startServer(
  place: Place,
  program: string,
  sources: boolean,
  environment: Readonly<Record<string, string>> = {},
): ReturnType<typeof Watched.start> {
  return Watched.start(
    [program, 'serve'],
    {
      DATABASE_URL: place.serverUrl,
      PORT: '0',
      METRICS_PORT: '0',
      OCCUPATIONS_ACCESS: 'public',
      LOG_LEVEL: 'info',
      SNAPSHOT_FOLDER: join(place.folder, 'snapshots'),
      TMPDIR: place.folder,
      ...environment,
    },
    // The worker and the process that builds also run from their sources.
    { limit: SERVE_LIMIT + (sources ? 2 * SOURCES : 0), memory: SERVE_LIMIT },
    /http:\/\/127\.0\.0\.1:(\d+)/,
    place.folder,
  )
}

/**
 * Starts a server and its worker on a catalogue of 8,000 long records without an index, several times. The process must
 * stay within its limit, and search must work.
 */
export async function restartLargeCatalogue(
  place: Place,
  { program, sources, restarts }: AttackOptions,
): Promise<AttackResult> {
  const database = await openDatabase(place.commandUrl)
  const faults: string[] = []
  let serve = 0
  try {
    const records = Array.from({ length: 8_000 }, (_, index) => ({
      occupationCode: `L${index}`,
      titleEnglish: `Title ${index.toString(36)}`,
      descriptionEnglish: String(index * 7919)
        .padStart(30, '7')
        .repeat(120),
    }))
    await importOccupations(database, sourceOf(records))
    for (let start = 0; start < restarts && faults.length === 0; start++) {
      await database.write('search', (writer) => writer.run('delete from search_index'))
      const { process, match } = await startServer(place, program, sources)
      try {
        await whenSearchable(match[0])
      } catch (error) {
        faults.push(process.fault === '' ? String(error) : process.fault)
      }
      serve = Math.max(serve, process.peak)
      await process.stop()
    }
  } finally {
    await database.close()
  }
  return { ...NOTHING, name: 'restarts without index', serve, responses: restarts, faults }
}

/** Starts a server whose standby accepts connections and never responds. `/readyz` must not notice. */
export async function startBesideDeadStandby(
  place: Place,
  { program, sources, slack }: AttackOptions,
): Promise<AttackResult> {
  const silent = createServer((socket) => socket.on('error', () => undefined)).listen(0, '127.0.0.1')
  await new Promise((resolve) => silent.once('listening', resolve))
  const address = silent.address()
  const standby = new URL(place.serverUrl)
  standby.hostname = '127.0.0.1'
  standby.port = String(typeof address === 'object' ? address?.port : 0)
  const { process, match } = await startServer(place, program, sources, {
    DATABASE_READ_URL: standby.toString().replaceAll('+', '%20'),
  })
  const health = new Bystander(Number(match[1]), ['/readyz'], {})
  await sleep(BESIDE)
  await health.stop()
  const { slowest } = health
  const faults = [
    ...(process.fault === '' ? [] : [process.fault]),
    ...health.wrong,
    ...judge(
      'a dead standby takes no server out of a balancer',
      { ...USUAL, health: 300, unavailable: 0 },
      {
        health: slowest,
        response: undefined,
        upload: undefined,
        unavailable: health.unavailable,
        sockets: undefined,
        growth: undefined,
      },
      slack,
    ),
  ]
  const { responses, unavailable } = health
  const serve = process.peak
  await process.stop()
  silent.close()
  return {
    ...NOTHING,
    name: 'beside a dead standby',
    serve,
    health: slowest,
    responses,
    unavailable,
    faults,
  }
}
