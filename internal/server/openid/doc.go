// Package openid signs people in with an OpenID Connect provider, and verifies the provider's
// tokens.
//
// [Provider] is an [access.Verifier] of two kinds of tokens: random ones that [Provider.Finish]
// returns after a sign-in with a browser, and JWTs of the issuer that clients send. Nothing is
// written to a disk: after a restart, people sign in again.
//
// The provider is asked only when needed, through one client with limits of time and size. While
// it does not answer, other verifiers work, and sign-in says why it does not.
package openid
