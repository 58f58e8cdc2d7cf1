/** Which rows of a long list are drawn: the visible ones, and some around them. Pure. */

export type Window = { first: number; end: number; above: number; below: number }

const AROUND = 12

/** `above` and `below`: the heights of the placeholders for rows that are not drawn, in pixels. */
export function windowOf(rows: number, rowHeight: number, scrolled: number, height: number): Window {
  const first = Math.max(0, Math.min(rows, Math.floor(scrolled / rowHeight)) - AROUND)
  const end = Math.min(rows, Math.ceil((scrolled + height) / rowHeight) + AROUND)
  return {
    first,
    end: Math.max(first, end),
    above: first * rowHeight,
    below: Math.max(0, rows - end) * rowHeight,
  }
}
