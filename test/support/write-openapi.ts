import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { renderOperations } from '../../client/render-operations.ts'
import { renderTypes } from '../../client/render-types.ts'
import { generateModule } from '../../clients/python/generate.ts'
import { createMemoryLimiter, rateLimitsOf } from '../../src/api/access/limits.ts'
import { createLog } from '../../src/api/telemetry/log.ts'
import { Metrics } from '../../src/api/telemetry/metrics.ts'
import { buildApp } from '../../src/app.ts'
import { openDatabase } from '../../src/foundation/database/open.ts'
import { RevisionWatch } from '../../src/foundation/database/revision-watch.ts'
import { Lifecycle } from '../../src/foundation/lifecycle.ts'
import { PACKAGE_ROOT } from '../../src/foundation/package/root.ts'
import { readSettings } from '../../src/settings.ts'

/** The OpenAPI document of the service with its default settings, as text. */
export async function generateOpenApi(): Promise<string> {
  const settings = readSettings({})
  const folder = mkdtempSync(join(tmpdir(), 'mahi-openapi-'))
  const lifecycle = new Lifecycle()
  const opened = await openDatabase(`sqlite:${join(folder, 'empty.db')}`)
  const database = lifecycle.own(opened, () => opened.close())
  const revisions = lifecycle.own(await RevisionWatch.start(database), (watch) => watch.stop())
  const { app } = await buildApp({
    settings,
    database,
    revisions,
    consume: createMemoryLimiter(rateLimitsOf(settings)),
    metrics: new Metrics(),
    lifecycle,
    log: createLog('silent', { write: () => undefined }),
  })
  await app.ready()
  const document = app.swagger()
  await lifecycle.end()
  rmSync(folder, { recursive: true })
  return `${JSON.stringify(document, null, 2)}\n`
}

if (import.meta.main) {
  const document = await generateOpenApi()
  writeFileSync(new URL('openapi.json', PACKAGE_ROOT), document)
  writeFileSync(new URL('client/src/types.ts', PACKAGE_ROOT), renderTypes(JSON.parse(document)))
  const operations = new URL('client/src/operations.ts', PACKAGE_ROOT)
  writeFileSync(operations, renderOperations(JSON.parse(document)))
  writeFileSync(new URL('clients/python/mahi.py', PACKAGE_ROOT), generateModule())
}
