import { mutationOptions, queryOptions, type QueryClient } from '@tanstack/react-query'
import { answer, api, type Schemas } from './client'
import { readAll, maxPage } from './lists'

export type ApiKey = Schemas['ApiKey']
export type KeyScope = Schemas['KeyScope']
export type KeyPolicy = Schemas['ApiKeyPolicy']
export type KeyLimits = Schemas['ApiKeyPolicySet']

const query = (workspace: string) => ({ workspace_id: workspace })
const key = (workspace: string) => ['api-keys', workspace]

export const apiKeysQuery = (workspace: string) =>
  queryOptions({
    queryKey: key(workspace),
    queryFn: ({ signal }) =>
      readAll(async (offset) => {
        const params = { query: { ...query(workspace), limit: maxPage, offset } }
        return (await answer(api.GET('/workspace/api-keys', { params, signal }))).data.api_keys
      }),
  })

const invalidate = (client: QueryClient, workspace: string) => client.invalidateQueries({ queryKey: key(workspace) })

/** createKey creates a key. Only this answer has its secret. */
export const createKey = (workspace: string) =>
  mutationOptions({
    // The secret is not cached.
    gcTime: 0,
    mutationFn: async (body: Schemas['ApiKeyCreate']) =>
      (await answer(api.POST('/workspace/api-keys', { params: { query: query(workspace) }, body }))).data.api_key,
    onSettled: (_data, _error, _input, _result, { client }) => invalidate(client, workspace),
  })

/** rotateKey gives a key a new secret, which only this answer has. */
export const rotateKey = (workspace: string) =>
  mutationOptions({
    gcTime: 0,
    mutationFn: async ({ id, hours }: { id: string; hours: number }) => {
      const params = { path: { id }, query: query(workspace) }
      const body = { old_secret_hours: hours }
      return (await answer(api.POST('/workspace/api-keys/{id}/rotate', { params, body }))).data.api_key
    },
    onSettled: (_data, _error, _input, _result, { client }) => invalidate(client, workspace),
  })

/** keyPolicyQuery reads the workspace's policy of keys. It is invalidated with the list of keys. */
export const keyPolicyQuery = (workspace: string) =>
  queryOptions({
    queryKey: [...key(workspace), 'policy'],
    queryFn: async ({ signal }) => {
      const params = { query: query(workspace) }
      return (await answer(api.GET('/workspace/api-keys/policy', { params, signal }))).data.policy
    },
  })

export const setKeyPolicy = (workspace: string) =>
  mutationOptions({
    mutationFn: async (body: KeyLimits) => {
      await answer(api.POST('/workspace/api-keys/policy', { params: { query: query(workspace) }, body }))
    },
    onSettled: (_data, _error, _input, _result, { client }) => invalidate(client, workspace),
  })

export const revokeKey = (workspace: string) =>
  mutationOptions({
    mutationFn: async (id: string) => {
      await answer(api.DELETE('/workspace/api-keys/{id}', { params: { path: { id }, query: query(workspace) } }))
    },
    onSettled: (_data, _error, _input, _result, { client }) => invalidate(client, workspace),
  })
