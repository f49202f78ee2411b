import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { UserError } from '../text/user-error.ts'

/** A setting in the settings file. */
export interface DescribedSetting {
  readonly name: string
  readonly value: string
  readonly meaning: string
}

export const SETTINGS_FILE = 'mahi.env'
export const UNIT_FILE = 'mahi.service'
export const BACKUP_UNIT_FILE = 'mahi-backup.service'
export const BACKUP_TIMER_FILE = 'mahi-backup.timer'

/**
 * Writes a commented settings file, a systemd unit, and a unit and a timer for backups into a folder. Existing files
 * are not changed.
 *
 * @param program the command line that starts Mahi, with absolute paths
 * @throws {UserError} if one of the files exists or cannot be written
 */
export function writeFiles(
  folder: string,
  settings: readonly DescribedSetting[],
  program: readonly string[],
): string[] {
  const files: [string, string][] = [
    [SETTINGS_FILE, renderSettings(settings)],
    [UNIT_FILE, renderUnit(program)],
    [BACKUP_UNIT_FILE, renderBackupUnit(program)],
    [BACKUP_TIMER_FILE, BACKUP_TIMER],
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

[Service]
ExecStart=${[...program, 'serve'].map(quoteUnit).join(' ')}
# Without these, the C library keeps freed memory: in each thread that compresses, and between large buffers.
Environment=MALLOC_ARENA_MAX=2 MALLOC_MMAP_THRESHOLD_=524288 MALLOC_TRIM_THRESHOLD_=8388608
EnvironmentFile=/etc/mahi/${SETTINGS_FILE}
Restart=on-failure
RestartSec=2
# Mahi ends within ten seconds of SIGTERM.
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

[Service]
Type=oneshot
ExecStart=${[...program, 'backup', '--keep', '14', '/var/lib/mahi/backups'].map(quoteUnit).join(' ')}
EnvironmentFile=/etc/mahi/${SETTINGS_FILE}
Nice=10
IOSchedulingClass=idle
${hardened('mahi mahi/backups')}`
}

/** Persistent: a machine that was off at that time makes the backup after it starts. */
const BACKUP_TIMER = `[Unit]
Description=Daily backup of Mahi's database

[Timer]
OnCalendar=*-*-* 02:30
RandomizedDelaySec=15min
Persistent=yes

[Install]
WantedBy=timers.target
`

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
