import type { FastifyBaseLogger } from 'fastify'
import type { ConsumeLimit } from './api/access/limits.ts'
import type { Part } from './api/contract/part.ts'
import { registerOperations } from './api/contract/register.ts'
import { createAccess } from './api/create-access.ts'
import { createServing, type Serving } from './api/create-serving.ts'
import { type DemoCredentials, registerDocs, registerRoot } from './api/reference/docs.ts'
import { registerOpenApi } from './api/reference/openapi.ts'
import { registerProblemPages } from './api/reference/problems.ts'
import { registerHealth } from './api/serving/health.ts'
import type { Log } from './api/telemetry/log.ts'
import type { Metrics } from './api/telemetry/metrics.ts'
import { createCatalogue } from './catalogue/create-catalogue.ts'
import { createConsole } from './console/create-console.ts'
import type { Database } from './foundation/database/database.ts'
import type { RevisionWatch } from './foundation/database/revision-watch.ts'
import type { Lifecycle } from './foundation/lifecycle.ts'
import { operateOperations } from './operate/operations.ts'
import type { Settings } from './settings.ts'
import { createSubmissions } from './submissions/create-submissions.ts'

export interface AppOptions {
  readonly settings: Settings
  readonly database: Database
  /** Notifies of changes to the catalogue and the keys by other processes. */
  readonly revisions: RevisionWatch
  readonly consume: ConsumeLimit
  readonly metrics: Metrics
  /** Ends the service: requests first, then everything that they use. */
  readonly lifecycle: Lifecycle
  readonly log: Log
  /** Filled in on the reference page, for browsers on this machine. */
  readonly demo?: DemoCredentials | undefined
}

/**
 * Builds the service without listening: everything that it serves, in order.
 *
 * @throws {DatabaseUnusable} if the encryption keys are not those of the database
 */
export async function buildApp(options: AppOptions): Promise<Pick<Serving, 'app' | 'cutOffRest'>> {
  const { settings, database, revisions, consume, metrics, lifecycle } = options
  const log = options.log.logger as FastifyBaseLogger
  const own = <Created extends Part>(part: Created): Created => {
    metrics.report(part.metrics)
    return lifecycle.own(part, ({ stop }) => stop())
  }
  const serving = await createServing(settings, {
    life: lifecycle,
    log: options.log,
    metrics,
  })
  const { app, versions } = serving
  metrics.report(serving.metrics)
  await registerOpenApi(app)
  registerDocs(app, options.demo)
  registerRoot(app, settings.CONSOLE === 'on' ? '/console' : '/docs')
  registerHealth(app, revisions, lifecycle)
  registerProblemPages(app)

  const access = own(await createAccess(settings, { database, revisions, consume, log }))
  const catalogue = own(createCatalogue(settings, { database, revisions, serving, log }))
  const submissions = own(
    await createSubmissions(settings, {
      database,
      access: access.access,
      serving,
      life: lifecycle,
    }),
  )
  const services = { access: access.access, versions }
  registerOperations(app, services, [
    ...catalogue.operations,
    ...submissions.operations,
    ...access.operations,
    ...operateOperations(database, access.access.audit),
  ])
  if (settings.CONSOLE === 'on') own(await createConsole(settings, { app, database, access, log }))
  lifecycle.own(serving, ({ stop }) => stop())
  return serving
}
