import '@fontsource-variable/inter/opsz.css'
import './styles/tokens.css'
import './styles/base.css'
import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { creditListeners, RequestError } from './api/client'
import { creditsQuery, handleSessionEnd, sessionQuery } from './api/queries'
import { App } from './app'
import { addEntry, ledgerQuery } from './session/ledger'

// Any request can detect the end of a session. Everything on the page stays.
const handleError = (error: Error) => {
  if (!(error instanceof RequestError)) return
  if (error.status === 401) handleSessionEnd(client)
  // Is the user still a member?
  if (error.status === 403) void client.invalidateQueries({ queryKey: sessionQuery.queryKey })
}

const client = new QueryClient({
  queryCache: new QueryCache({ onError: handleError }),
  mutationCache: new MutationCache({ onError: handleError }),
  defaultOptions: {
    queries: {
      refetchOnWindowFocus: false,
      // Free requests are retried when the service asks for it.
      retry: (count, error) =>
        count < 3 && error instanceof RequestError && (error.status === 503 || error.code === 'too_many_requests'),
      retryDelay: (count, error) =>
        Math.max(200 * 2 ** count, error instanceof RequestError && error.retryAt ? +error.retryAt - Date.now() : 0),
    },
  },
})

creditListeners.add((window, charged, path) => {
  client.setQueryData(creditsQuery.queryKey, (before) => (before ? { ...before, ...window } : before))
  client.setQueryData(ledgerQuery.queryKey, (before) => addEntry(before ?? [], path, charged, Date.now()))
})

// Paid data is shared with the user's other tabs; the first screen does not wait for that.
void import('./paid-cache/start').then(({ start }) => start(client))

const root = document.getElementById('root')
if (root) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={client}>
        <App />
      </QueryClientProvider>
    </StrictMode>,
  )
}
