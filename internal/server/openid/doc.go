// Package openid signs people in with an OpenID Connect provider, and verifies the provider's
// tokens.
//
// [Provider] is an [access.Verifier] of two kinds of tokens: random ones that [Provider.Finish]
// returns after a sign-in with a browser, and JWTs of the issuer that clients send. Nothing is
// written to disk: after a restart, people sign in again.
//
// The provider is contacted only when needed, through one client with limits on time and size.
// While the provider does not answer, other verifiers work, and a sign-in reports the reason.
package openid
