// Package openid signs people in with an OpenID Connect provider, and verifies the tokens that
// the provider issues.
//
// [Provider] is an [access.Verifier] of two kinds of tokens: the random ones that [Provider.Finish]
// returns for a person who signed in with a browser, and JWTs of the issuer that clients send
// themselves. Nothing is written to a disk: after a restart, people sign in again.
//
// The provider is asked only when it is needed, through one client with limits of time and size.
// While it does not answer, other verifiers work, and sign-in says why it does not.
package openid
