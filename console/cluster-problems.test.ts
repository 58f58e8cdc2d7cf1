/** Which conditions are shown as problems. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ConsoleClusterServer } from '../core/console/shapes.ts'
import { clusterProblems } from './cluster-problems.ts'

const server = (...conditions: [type: string, status: string, reason: string][]): ConsoleClusterServer => ({
  ...{ namespace: 'team', name: 'kit', ready: false },
  conditions: conditions.map(([type, status, reason]) => ({ type, status, reason, message: reason })),
})

test('a failure that several conditions report is shown once, with a command; progress is not shown as a failure', () => {
  const servers = [
    server(
      ['Accepted', 'True', 'Accepted'],
      ['Available', 'False', 'ImagePullFailed'],
      ['Progressing', 'False', 'Stuck'],
      ['Ready', 'False', 'ImagePullFailed'],
      ['ToolsDiscovered', 'False', 'ImagePullFailed'],
      ['ToolsApproved', 'False', 'ToolsChanged'],
    ),
  ]
  assert.deepEqual(
    clusterProblems({ version: '1', gateways: [], servers }).map(({ reason, command }) => [reason, command]),
    [
      ['ImagePullFailed', 'kubectl -n team describe mcpserver/kit'],
      ['ToolsChanged', 'npx portolan approve kit --namespace team --diff'],
    ],
  )
})
