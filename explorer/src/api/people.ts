import { mutationOptions, queryOptions } from '@tanstack/react-query'
import { answer, api, type Schemas } from './client'
import { readAll, maxPage } from './lists'

export type Member = Schemas['Member']
export type Role = Schemas['Role']
export type Invitation = Schemas['Invitation']
export type InvitedRole = Invitation['role']

/** nameOf is the display name of a member. */
export const nameOf = (m: Pick<Member, 'name' | 'email'>) => m.name || m.email

const query = (workspace: string) => ({ workspace_id: workspace })

export type Preview = Schemas['InvitationPreview']

/** previewQuery previews the acceptance of an invitation. */
export const previewQuery = (token: string) =>
  queryOptions({
    queryKey: ['invitation', token],
    staleTime: Infinity,
    retry: false,
    queryFn: async ({ signal }) =>
      (await answer(api.POST('/workspace/invitations/preview', { body: { token }, signal }))).data,
  })

export const membersQuery = (workspace: string) =>
  queryOptions({
    queryKey: ['members', workspace],
    queryFn: ({ signal }) =>
      readAll(async (offset) => {
        const params = { query: { ...query(workspace), limit: maxPage, offset } }
        return (await answer(api.GET('/workspace/members', { params, signal }))).data.members
      }),
  })

export const invitationsQuery = (workspace: string) =>
  queryOptions({
    queryKey: ['invitations', workspace],
    queryFn: ({ signal }) =>
      readAll(async (offset) => {
        const params = { query: { ...query(workspace), limit: maxPage, offset } }
        return (await answer(api.GET('/workspace/invitations', { params, signal }))).data.invitations
      }),
  })

/** setRole sets the role of a member. */
export const setRole = (workspace: string) =>
  mutationOptions({
    mutationFn: async ({ id, role }: { id: string; role: Role }) => {
      const params = { path: { userId: id }, query: query(workspace) }
      return (await answer(api.PATCH('/workspace/members/{userId}', { params, body: { role } }))).data.member
    },
    onSettled: (_data, _error, _input, _result, { client }) =>
      Promise.all([
        client.invalidateQueries({ queryKey: membersQuery(workspace).queryKey }),
        // It has the user's own role.
        client.invalidateQueries({ queryKey: ['workspace'] }),
      ]),
  })

export const removeMember = (workspace: string) =>
  mutationOptions({
    mutationFn: async (id: string) => {
      const params = { path: { userId: id }, query: query(workspace) }
      await answer(api.DELETE('/workspace/members/{userId}', { params }))
    },
    onSettled: (_data, _error, _input, _result, { client }) =>
      client.invalidateQueries({ queryKey: membersQuery(workspace).queryKey }),
  })

interface Invited {
  email: string
  role: InvitedRole
  /** Whether it replaces the invitation of the address, whose link stops working. */
  replace?: boolean
}

/** invite creates an invitation. Only this answer has the link. */
export const invite = (workspace: string) =>
  mutationOptions({
    // The link is a secret, so it is not cached.
    gcTime: 0,
    mutationFn: async (invited: Invited) => {
      const request = api.POST('/workspace/invitations', { params: { query: query(workspace) }, body: invited })
      return (await answer(request)).data
    },
    onSettled: (_data, _error, _input, _result, { client }) =>
      client.invalidateQueries({ queryKey: invitationsQuery(workspace).queryKey }),
  })

export const revoke = (workspace: string) =>
  mutationOptions({
    mutationFn: async (id: string) => {
      await answer(api.DELETE('/workspace/invitations/{id}', { params: { path: { id }, query: query(workspace) } }))
    },
    onSettled: (_data, _error, _input, _result, { client }) =>
      client.invalidateQueries({ queryKey: invitationsQuery(workspace).queryKey }),
  })

/** accept makes the signed-in user a member of the workspace that a token invites to. */
export const accept = (token: string) => answer(api.POST('/workspace/invitations/accept', { body: { token } }))
