import { randomBytes } from 'node:crypto'

/**
 * Creates a token of 192 random bits. It never starts with a hyphen, which would make it an option on a command line.
 */
export function createToken(): string {
  for (;;) {
    const token = randomBytes(24).toString('base64url')
    if (!token.startsWith('-')) return token
  }
}
