/** Attacks a service within the memory limits of deploy/: `node tools/attacks/run.ts [--minutes 10] [--engine postgres]`. */
import { parseArgs } from 'node:util'
import { isEngine, makePlace } from '../../bench/empty-database.ts'
import { buildMahi, MAHI, script } from '../../bench/mahi.ts'
import { findPostgres } from '../../test/support/find-postgres.ts'
import type { Attack } from './attack.ts'
import { Service } from './service.ts'
import { ATTACKS } from './table.ts'

const { values: flags } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    engine: { type: 'string', default: 'sqlite' },
    /** Comma-separated names; without it, all. */
    attacks: { type: 'string' },
    /** A few attacks for some seconds, from the sources: neither memory nor times are judged. */
    small: { type: 'boolean', default: false },
  },
})
const { engine, small } = flags
if (!isEngine(engine)) throw new Error('--engine must be sqlite or postgres')
const names =
  flags.attacks?.split(',') ?? ATTACKS.flatMap((each) => (small && !each.small ? [] : [each.name]))
const attacks = names.map((name): Attack => {
  const found = ATTACKS.find((each) => each.name === name)
  if (found === undefined) throw new Error(`no attack has the name ${name}`)
  // A small run is for what attacks do, not for how much of it a machine bears.
  return small ? { ...found, count: Math.min(found.count, 40) } : found
})
if (!small) buildMahi()
const length = small ? 1_000 : (Number(flags.minutes) * 60_000) / attacks.length
const conditions = { program: small ? MAHI : script('../dist/src/start.js'), measured: !small }
const mib = (bytes: number | undefined) =>
  `${bytes === undefined ? '–' : Math.round(bytes / 2 ** 20)} MiB`.padStart(9)

const place = await makePlace(engine, engine === 'postgres' ? await findPostgres() : undefined)
process.stdout.write(
  `${engine}; attack; most memory of mahi serve, mahi work and the kernel for connections; slowest response of /livez and /readyz, and of another caller\n`,
)
let service = await Service.start(place, conditions)
try {
  for (const attack of attacks) {
    const result = await service.suffer(attack, length)
    const { serve, work, sockets, health, response, responses, unavailable, faults } = result
    const slowest = [health, response].map((each) => `${Math.round(each)} ms`.padStart(9)).join('')
    process.stdout.write(
      `${attack.name.padEnd(18)}${mib(serve)}${mib(work)}${mib(sockets)}${slowest}  ${responses} responses, ${unavailable} of them 503${faults.length === 0 ? '' : '  FAILED'}\n`,
    )
    for (const fault of faults) process.stdout.write(`    ${fault}\n`)
    if (faults.length > 0) process.exitCode = 1
    if (service.isUsable) continue
    await service.stop()
    service = await Service.start(place, conditions)
  }
} finally {
  await service.stop()
  await place.remove()
}
