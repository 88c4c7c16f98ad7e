package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"atlas/cmd/internal/cli"
	"atlas/cmd/internal/server"
	"atlas/service/auth"
	"atlas/service/credits"
	"atlas/service/endpoint"
	"atlas/service/session"
	"atlas/workspace"
)

type linkCmd struct {
	Dir   string `default:".atlas" type:"path" help:"Folder of the running atlas-dev (default: .atlas)."`
	Email string `help:"Whom to sign in: a user of dev.json, or somebody new who can accept an invitation (default: the owner of the first workspace)."`
}

// Run prints a link to the service that dev.json describes.
func (c *linkCmd) Run(ctx context.Context, s *cli.Streams) error {
	f, err := readDevFile(c.Dir)
	if err != nil {
		return err
	}
	link, err := signInLink(ctx, server.Config{RedisURL: f.RedisURL, RedisPrefix: devRedisPrefix}, f.user(c.Email))
	if err == nil {
		fmt.Fprintln(s.Out, strings.TrimSuffix(f.BaseURL, endpoint.Version)+link)
	}
	return err
}

// user returns the user with an address: one of dev.json, else somebody new. Without an
// address it is the first user.
func (f devFile) user(email string) devUser {
	for _, w := range f.Workspaces {
		for _, u := range w.Users {
			if email == "" || email == u.Email {
				return u
			}
		}
	}
	name, _, _ := strings.Cut(email, "@")
	return devUser{ID: workspace.UserID(uuid.NewSHA1(devNamespace, []byte(email))), Email: email, Name: name}
}

// signInLink returns an address, without scheme and host, that signs in to the
// Explorer. The token is in the fragment, which browsers do not send.
func signInLink(ctx context.Context, c server.Config, u devUser) (string, error) {
	client, err := credits.Open(c.RedisURL)
	if err != nil {
		return "", err
	}
	defer client.Close()
	sessions := session.New(client, session.Options{Prefix: c.RedisPrefix, Timeout: 10 * time.Second})
	token, err := sessions.Link(ctx, auth.User{ID: u.ID, Email: u.Email, EmailVerified: true, Name: u.Name})
	return "/#sign-in=" + token, err
}
