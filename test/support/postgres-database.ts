import { randomBytes } from 'node:crypto'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { findPostgres } from './find-postgres.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The database that the tests on PostgreSQL make their schemas in. */
    postgresUrl: string
  }
}

/** Creates a database for a run of one project. Dropping it takes less time than dropping the schemas of its tests. */
export default async function createRunDatabase(project: TestProject): Promise<() => Promise<void>> {
  const server = await findPostgres()
  if (server === undefined) throw new Error('PostgreSQL has stopped since the configuration was read')
  const name = `mahi_test_${randomBytes(6).toString('hex')}`
  await execute(server, `create database ${name}`)
  const url = new URL(server)
  url.pathname = name
  project.provide('postgresUrl', url.toString())
  return async () => await execute(server, `drop database ${name} with (force)`)
}

async function execute(server: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: server })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
