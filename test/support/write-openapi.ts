import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createMemoryLimiter } from '../../src/access/rate-limit.ts'
import { buildApp, rateLimitsOf } from '../../src/app.ts'
import { openDatabase } from '../../src/database/open.ts'
import { RevisionWatch } from '../../src/database/revision-watch.ts'
import { PACKAGE_ROOT } from '../../src/package/root.ts'
import { readSettings } from '../../src/settings.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { Metrics } from '../../src/telemetry/metrics.ts'

/** The OpenAPI document of the service with its default settings, as text. */
export async function generateOpenApi(): Promise<string> {
  const settings = readSettings({})
  const folder = mkdtempSync(join(tmpdir(), 'mahi-openapi-'))
  const database = await openDatabase(`sqlite:${join(folder, 'empty.db')}`)
  const revisions = await RevisionWatch.start(database)
  const app = await buildApp({
    settings,
    database,
    reads: database,
    revisions,
    consume: createMemoryLimiter(rateLimitsOf(settings)),
    metrics: new Metrics(),
    life: { stopping: false },
    log: createLog('silent', { write: () => undefined }),
  })
  await app.ready()
  const document = app.swagger()
  await app.close()
  await revisions.stop()
  await database.close()
  rmSync(folder, { recursive: true })
  return `${JSON.stringify(document, null, 2)}\n`
}

if (import.meta.main) writeFileSync(new URL('openapi.json', PACKAGE_ROOT), await generateOpenApi())
