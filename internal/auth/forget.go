package auth

import "atlas/workspace"

// Forget drops what is kept about a user's place in a workspace, after a change
// made through this process: here it holds from the next request on. Other
// processes follow within 4 s, and so does a look-up that is under way.
func (a *Authenticator) Forget(in workspace.ID, user workspace.UserID) {
	a.roles.drop(membership{in, user})
	a.onlyWorkspaces.drop(user)
}

func (c *cache[K, V]) drop(k K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if element, ok := c.entries[k]; ok {
		c.recent.Remove(element)
		delete(c.entries, k)
	}
}
