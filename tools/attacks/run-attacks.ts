import { makePlace } from '../../bench/empty-database.ts'
import { ANONYMOUS } from './anonymous.ts'
import type { Attack } from './attack.ts'
import { KEYED } from './keyed.ts'
import { type AttackOptions, type AttackResult, SOURCES } from './result.ts'
import { Service } from './service.ts'
import { restartLargeCatalogue, startBesideDeadStandby } from './starts.ts'

export const ATTACKS: readonly Attack[] = [...ANONYMOUS, ...KEYED]

/** Attacks a service, and reports what came of it. */
export async function runAttacks(options: AttackOptions): Promise<readonly AttackResult[]> {
  const place = await makePlace(options.engine, options.postgres)
  const service = new Service(place, options.program, options.sources ? SOURCES : 0, options.slack)
  try {
    await service.fill()
    await service.start()
    const results: AttackResult[] = []
    const record = (result: AttackResult) => {
      results.push(result)
      options.onResult?.(result)
    }
    for (const attack of options.attacks) record(await service.suffer(attack.name, [attack], options.length))
    if (options.together > 0) {
      for (const caller of ['anonymous', 'key'] as const) {
        const all = options.attacks.filter((each) => each.caller === caller)
        if (all.length > 1) record(await service.suffer(`all of ${caller}`, all, options.together))
      }
    }
    await service.stop()
    if (options.restarts > 0) {
      record(await restartLargeCatalogue(place, options))
      if (options.engine === 'postgres') record(await startBesideDeadStandby(place, options))
    }
    return results
  } finally {
    await service.stop()
    await place.remove()
  }
}
