/** What the image and the unit of `mahi init` tell the C library. */
export const ALLOCATOR = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '524288',
  MALLOC_TRIM_THRESHOLD_: '8388608',
}
