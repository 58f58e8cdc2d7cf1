/** All dashboards, each with the file that the chart ships. */
import { access } from './access.ts'
import { operator } from './operator.ts'
import { overview } from './overview.ts'
import { renderDashboard } from './render.ts'
import { server } from './server.ts'

/** Paths relative to the project's root, with their contents. */
export function dashboardFiles(): [path: string, json: string][] {
  return [overview, server, access, operator].map(content => [
    `charts/portolan/dashboards/${content.name}.json`,
    renderDashboard(content),
  ])
}
