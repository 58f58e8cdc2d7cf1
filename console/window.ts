/** Which rows of a long list are drawn: the visible ones, and some around them. Pure. */

export type Window = { first: number; end: number; above: number; below: number }

/** How many rows are drawn before and after the visible ones. */
const AROUND = 12

/**
 * The rows to draw, from `first` up to but not including `end`, and the heights of the placeholders `above` and `below` them. `scrolled`: how far
 * the frame is scrolled; `height`: that of the frame. All but the numbers of rows are in pixels.
 */
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
