/** The most records per page, whatever the settings. */
export const MOST_RECORDS = 1_000
