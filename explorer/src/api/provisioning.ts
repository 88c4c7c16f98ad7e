import { infiniteQueryOptions, mutationOptions, queryOptions, type QueryClient } from '@tanstack/react-query'
import { answer, api, type Schemas } from './client'
import { readAll, maxPage } from './lists'

export type ScimToken = Schemas['ScimToken']
export type ProvisionedPerson = Schemas['ProvisionedPerson']
export type ProvisionedGroup = Schemas['ProvisionedGroup']
export type GroupRole = Schemas['GroupRoleSet']['role']

const query = (workspace: string) => ({ workspace_id: workspace })
const key = (workspace: string) => ['provisioning', workspace]
const invalidate = (client: QueryClient, workspace: string) => client.invalidateQueries({ queryKey: key(workspace) })

export const scimTokensQuery = (workspace: string) =>
  queryOptions({
    queryKey: [...key(workspace), 'tokens'],
    queryFn: ({ signal }) =>
      readAll(async (offset) => {
        const params = { query: { ...query(workspace), limit: maxPage, offset } }
        return (await answer(api.GET('/workspace/identity/scim/tokens', { params, signal }))).data.tokens
      }),
  })

/** createScimToken creates a token. Only this answer has its secret. */
export const createScimToken = (workspace: string) =>
  mutationOptions({
    // The secret is not cached.
    gcTime: 0,
    mutationFn: async (body: Schemas['ScimTokenCreate']) => {
      const params = { query: query(workspace) }
      return (await answer(api.POST('/workspace/identity/scim/tokens', { params, body }))).data.token
    },
    onSettled: (_data, _error, _input, _result, { client }) => invalidate(client, workspace),
  })

export const revokeScimToken = (workspace: string) =>
  mutationOptions({
    mutationFn: async (id: string) => {
      const params = { path: { id }, query: query(workspace) }
      await answer(api.DELETE('/workspace/identity/scim/tokens/{id}', { params }))
    },
    onSettled: (_data, _error, _input, _result, { client }) => invalidate(client, workspace),
  })

/** provisionedPeopleQuery reads them page by page: there may be thousands. */
export const provisionedPeopleQuery = (workspace: string) =>
  infiniteQueryOptions({
    queryKey: [...key(workspace), 'people'],
    queryFn: async ({ pageParam, signal }) => {
      const params = { query: { ...query(workspace), limit: maxPage, offset: pageParam } }
      return (await answer(api.GET('/workspace/identity/scim/people', { params, signal }))).data.people
    },
    initialPageParam: 0,
    getNextPageParam: (page, pages) => (page.length < maxPage ? undefined : pages.length * maxPage),
  })

export const provisionedGroupsQuery = (workspace: string) =>
  queryOptions({
    queryKey: [...key(workspace), 'groups'],
    queryFn: ({ signal }) =>
      readAll(async (offset) => {
        const params = { query: { ...query(workspace), limit: maxPage, offset } }
        return (await answer(api.GET('/workspace/identity/scim/groups', { params, signal }))).data.groups
      }),
  })

export const setGroupRole = (workspace: string) =>
  mutationOptions({
    mutationFn: async ({ id, role }: { id: string; role: GroupRole }) => {
      const params = { path: { id }, query: query(workspace) }
      await answer(api.POST('/workspace/identity/scim/groups/{id}', { params, body: { role } }))
    },
    onSettled: (_data, _error, _input, _result, { client }) => invalidate(client, workspace),
  })
