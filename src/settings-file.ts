import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { say } from './foundation/command-line/terminal.ts'
import { UserError } from './foundation/faults/user-error.ts'
import { isSetting } from './settings.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Where the units of deploy/systemd read the settings of the service. */
const INSTALLED = '/etc/mahi/mahi.env'

/**
 * The settings that the installation has in a file, for commands that a person runs beside the service: without them,
 * they would use another database. `MAHI_SETTINGS` names another file.
 *
 * @throws {UserError} if the file cannot be read, or has a line that sets nothing
 */
export function readSettingsFile(
  environment: Environment,
): { file: string; values: Environment } | undefined {
  const named = environment.MAHI_SETTINGS?.trim()
  const file = named || INSTALLED
  if (!named && !existsSync(file)) return undefined
  try {
    return { file, values: parse(file, readFileSync(file, 'utf8')) }
  } catch (error) {
    if (error instanceof UserError) throw error
    const { code } = error as NodeJS.ErrnoException
    // The service itself may not read the file: it has its settings from systemd.
    if (code === 'EACCES' && hasDatabase(environment)) return undefined
    const advice =
      code === 'EACCES'
        ? 'this user may not read. Run the command with sudo, or set DATABASE_URL'
        : `cannot be read (${code}). Correct MAHI_SETTINGS`
    throw new UserError(`The settings of this installation are in ${file}, which ${advice}`)
  }
}

/** The environment, completed by the settings file of the installation. */
export function completeEnvironment(environment: Environment): Environment {
  const installed = readSettingsFile(environment)
  if (installed !== undefined) sayUnknown(installed)
  const set = Object.entries(environment).filter(([, value]) => value?.trim())
  return { ...installed?.values, ...Object.fromEntries(set) }
}

/** What other programs read, for example Node.js, the C library and the driver of PostgreSQL. */
const FOREIGN = /^(?:NODE_|PG|MALLOC_)|^(?:MAHI_API_KEY|(?:SQLITE_)?TMPDIR|TZ)$/

const examined = new Set<string>()

/** Names once what a settings file sets without effect; in the environment, names that are no settings are of others. */
function sayUnknown({ file, values }: { readonly file: string; readonly values: Environment }): void {
  if (examined.has(file)) return
  examined.add(file)
  const unknown = Object.keys(values).filter((name) => !isSetting(name) && !FOREIGN.test(name))
  if (unknown.length > 0)
    say(
      `${file} sets what is not a setting: ${unknown.join(', ')}. Correct or remove it; "mahi config" lists the settings.`,
    )
}

let isSaid = false

/**
 * Says once which database a command uses, unless its environment says so. The default one is named while it is new,
 * and where an installation has settings that name none.
 */
export function sayDatabase(environment: Environment, url: string): void {
  if (isSaid || hasDatabase(environment)) return
  isSaid = true
  const installed = readSettingsFile(environment)
  const path = resolve(url.replace(/^sqlite:/, ''))
  if (installed !== undefined && hasDatabase(installed.values))
    say(`Using the settings in ${installed.file}.`)
  else if (installed !== undefined || !existsSync(path))
    say(`Using ${path}, the default database of this folder. DATABASE_URL selects another one.`)
}

function hasDatabase({ DATABASE_URL, DATABASE_URL_FILE }: Environment): boolean {
  return Boolean(DATABASE_URL?.trim() || DATABASE_URL_FILE?.trim())
}

/** The format of systemd's `EnvironmentFile`, without lines that continue. */
function parse(file: string, text: string): Environment {
  const values: Record<string, string> = {}
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (/^\s*(?:[#;]|$)/.test(line)) continue
    const [, name, value = ''] = /^\s*([A-Za-z_]\w*)=(.*)$/.exec(line) ?? []
    if (name === undefined)
      throw new UserError([{ file, line: index + 1, message: 'must be NAME=VALUE, or begin with #' }])
    values[name] = unquote(value.trim())
  }
  return values
}

function unquote(value: string): string {
  if (/^'[^']*'$/.test(value)) return value.slice(1, -1)
  if (/^"(?:[^"\\]|\\.)*"$/.test(value)) return value.slice(1, -1).replaceAll(/\\(["\\$`])/g, '$1')
  return value
}
