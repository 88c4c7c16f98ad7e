import { mutationOptions, queryOptions, type QueryClient } from '@tanstack/react-query'
import { answer, api, type Schemas } from './client'

export type Domain = Schemas['IdentityDomain']
export type Provider = Schemas['IdentityProvider']
export type ProviderChange = Schemas['IdentityProviderSet']

const query = (workspace: string) => ({ workspace_id: workspace })
const key = (workspace: string) => ['identity', workspace]
const invalidate = (client: QueryClient, workspace: string) => client.invalidateQueries({ queryKey: key(workspace) })

export const domainsQuery = (workspace: string) =>
  queryOptions({
    queryKey: [...key(workspace), 'domains'],
    queryFn: async ({ signal }) => {
      const params = { query: query(workspace) }
      return (await answer(api.GET('/workspace/identity/domains', { params, signal }))).data.domains
    },
  })

export const addDomain = (workspace: string) =>
  mutationOptions({
    mutationFn: async (domain: string) => {
      const params = { query: query(workspace) }
      return (await answer(api.POST('/workspace/identity/domains', { params, body: { domain } }))).data.domain
    },
    onSettled: (_data, _error, _input, _result, { client }) => invalidate(client, workspace),
  })

/** checkDomain looks up the DNS record of a domain now. */
export const checkDomain = (workspace: string) =>
  mutationOptions({
    mutationFn: async (domain: string) => {
      const params = { path: { domain }, query: query(workspace) }
      return (await answer(api.POST('/workspace/identity/domains/{domain}/check', { params }))).data.domain
    },
    onSettled: (_data, _error, _input, _result, { client }) => invalidate(client, workspace),
  })

export const removeDomain = (workspace: string) =>
  mutationOptions({
    mutationFn: async (domain: string) => {
      const params = { path: { domain }, query: query(workspace) }
      await answer(api.DELETE('/workspace/identity/domains/{domain}', { params }))
    },
    onSettled: (_data, _error, _input, _result, { client }) => invalidate(client, workspace),
  })

/** providerQuery is the provider of the workspace, null for none, and the redirect address that it must allow. */
export const providerQuery = (workspace: string) =>
  queryOptions({
    queryKey: [...key(workspace), 'provider'],
    queryFn: async ({ signal }) => {
      const params = { query: query(workspace) }
      return (await answer(api.GET('/workspace/identity/provider', { params, signal }))).data
    },
  })

export const setProvider = (workspace: string) =>
  mutationOptions({
    // The secret is not cached.
    gcTime: 0,
    mutationFn: async (body: ProviderChange) => {
      await answer(api.POST('/workspace/identity/provider', { params: { query: query(workspace) }, body }))
    },
    onSettled: (_data, _error, _input, _result, { client }) => invalidate(client, workspace),
  })

export const removeProvider = (workspace: string) =>
  mutationOptions({
    mutationFn: async () => {
      await answer(api.DELETE('/workspace/identity/provider', { params: { query: query(workspace) } }))
    },
    onSettled: (_data, _error, _input, _result, { client }) => invalidate(client, workspace),
  })
