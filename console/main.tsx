/** Starts the page. */
import { render } from 'preact'
import { App } from './views/app.tsx'

const place = document.getElementById('app')
if (place) render(<App />, place)
