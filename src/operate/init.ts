import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { UserError } from '../foundation/faults/user-error.ts'

/** A setting in the settings file. */
export interface DescribedSetting {
  readonly name: string
  readonly value: string
  readonly meaning: string
}

export const SETTINGS_FILE = 'mahi.env'

/**
 * Writes a commented settings file and systemd units into a folder: the service, a worker, backups
 * with their timer, and what reports a failure of these. Existing files are not changed.
 *
 * @param program the command line that starts Mahi, with absolute paths
 * @returns the names of the files
 * @throws {UserError} if one of the files exists or cannot be written
 */
export function writeFiles(
  folder: string,
  settings: readonly DescribedSetting[],
  program: readonly string[],
): string[] {
  const files: [string, string][] = [
    [SETTINGS_FILE, renderSettings(settings)],
    ['mahi.service', renderUnit(program)],
    ['mahi-worker.service', renderWorkerUnit(program)],
    ['mahi-backup.service', renderBackupUnit(program)],
    ['mahi-backup.timer', renderTimer("Daily backup of Mahi's database", '02:30')],
    ['mahi-failure@.service', FAILURE_UNIT],
  ]
  for (const [name, text] of files) {
    try {
      const descriptor = openSync(join(folder, name), 'wx', 0o600)
      writeSync(descriptor, text)
      closeSync(descriptor)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      throw new UserError(
        code === 'EEXIST'
          ? `${name} exists already: move it away, or run the command in another folder`
          : `${name} cannot be written (${code})`,
      )
    }
  }
  return files.map(([name]) => name)
}

function renderSettings(settings: readonly DescribedSetting[]): string {
  const lines = settings.map(({ name, value, meaning }) => {
    // The StateDirectory of the unit.
    const set = name === 'DATABASE_URL' ? `DATABASE_URL=sqlite:/var/lib/mahi/mahi.db` : `#${name}=${value}`
    return `# ${meaning}\n${set}\n`
  })
  return `# Settings of Mahi: "mahi config" shows those that hold. A line without # sets one.\n\n${lines.join('\n')}`
}

function renderUnit(program: readonly string[]): string {
  return `[Unit]
Description=Mahi, an occupation catalogue and validation results over HTTP
After=network-online.target
Wants=network-online.target
${ON_FAILURE}
[Service]
ExecStart=${[...program, 'serve'].map(quoteUnit).join(' ')}
EnvironmentFile=/etc/mahi/${SETTINGS_FILE}
Restart=on-failure
RestartSec=2
# Mahi ends within ten seconds of SIGTERM, or when uploads and exports have ended: at most SHUTDOWN_GRACE seconds.
TimeoutStopSec=135
${hardened('mahi')}
[Install]
WantedBy=multi-user.target
`
}

/** An additional worker: `mahi serve` has one unless WORKERS is 0. */
function renderWorkerUnit(program: readonly string[]): string {
  return `[Unit]
Description=Worker of Mahi, which validates submissions
After=network-online.target
Wants=network-online.target
${ON_FAILURE}
[Service]
ExecStart=${[...program, 'work'].map(quoteUnit).join(' ')}
EnvironmentFile=/etc/mahi/${SETTINGS_FILE}
Restart=on-failure
RestartSec=2
TimeoutStopSec=15
${hardened('mahi')}
[Install]
WantedBy=multi-user.target
`
}

/** Keeps two weeks of backups on the disk of the database; copying them to another machine is up to the operator. */
function renderBackupUnit(program: readonly string[]): string {
  return `[Unit]
Description=Backup of Mahi's database
${ON_FAILURE}
[Service]
Type=oneshot
ExecStart=${[...program, 'backup', '--keep', '14', '/var/lib/mahi/backups'].map(quoteUnit).join(' ')}
EnvironmentFile=/etc/mahi/${SETTINGS_FILE}
Nice=10
IOSchedulingClass=idle
${hardened('mahi mahi/backups')}`
}

/** Where a machine has nothing that follows failed units, the message in its log is what a person can act on. */
const FAILURE_UNIT = `[Unit]
Description=Reports that %i has failed

[Service]
Type=oneshot
ExecStart=/usr/bin/logger --priority daemon.crit --tag mahi "%i has failed: journalctl --unit %i shows why"
`

const ON_FAILURE = 'OnFailure=mahi-failure@%n.service\n'

/** The parts of the command line that the units cannot read, because they hide the home folders. */
export function findHidden(program: readonly string[]): string[] {
  return program.filter((path) => /^\/(?:home|root|run\/user)\//.test(path))
}

/** Persistent: a machine that was off at that time does it after it starts. */
function renderTimer(description: string, time: string): string {
  return `[Unit]
Description=${description}

[Timer]
OnCalendar=*-*-* ${time}
RandomizedDelaySec=15min
Persistent=yes

[Install]
WantedBy=timers.target
`
}

/** A dedicated user, a read-only system, and one writable folder. */
function hardened(stateDirectory: string): string {
  return `DynamicUser=yes
User=mahi
StateDirectory=${stateDirectory}
StateDirectoryMode=0700
WorkingDirectory=/var/lib/mahi
UMask=0077
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
CapabilityBoundingSet=
AmbientCapabilities=
`
}

function quoteUnit(word: string): string {
  return /^[\w./:@=-]+$/.test(word)
    ? word
    : `"${word.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('%', '%%')}"`
}
