// Command image writes knack's container image as an OCI layout, without a daemon:
//
//	go -C deploy/image run . -o ../../dist/image
//
// The layout has an index with one image for each architecture, and the bill of materials of each
// image as a referrer. The same sources give the same digests. The time in the image is
// SOURCE_DATE_EPOCH, or else the time of the commit. With -push, the command also sends everything
// to a registry, with the credentials of docker login.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

func main() {
	var o options
	flag.StringVar(&o.source, "source", "../..", "the `folder` of knack's sources")
	flag.StringVar(&o.out, "o", "../../dist/image", "the `folder` for the OCI layout, which must be empty or absent")
	flag.StringVar(&o.tag, "tag", "latest", "the `name` of the image in the layout")
	flag.StringVar(&o.push, "push", "", "send everything to this `reference` of a registry too, such as registry.example.com/knack:1.0")
	flag.StringVar(&o.epoch, "epoch", os.Getenv("SOURCE_DATE_EPOCH"), "the time in the image, in `seconds` since 1970; without it, the commit's")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := errors.New("image takes no arguments, only flags: see image -h")
	if flag.NArg() == 0 {
		err = run(ctx, o, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// options has the values of the flags.
type options struct {
	source, out, tag, push, epoch string
}

// run builds the image, writes it, and pushes it if -push is set. It prints the results to w.
func run(ctx context.Context, o options, w io.Writer) error {
	var target name.Reference
	if o.push != "" {
		var err error
		if target, err = name.ParseReference(o.push, name.StrictValidation); err != nil {
			return fmt.Errorf("-push: %w; write registry/name:tag", err)
		}
	}
	switch entries, err := os.ReadDir(o.out); {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("look into the folder for the layout: %w", err)
	case len(entries) > 0:
		return fmt.Errorf("%s is not empty: delete it, or name another folder with -o", o.out)
	}
	made, err := assemble(ctx, o)
	if err != nil {
		return err
	}
	if err := made.write(o.out, o.tag); err != nil {
		return fmt.Errorf("write %s: %w", o.out, err)
	}
	digest, err := made.index.Digest()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s:%s is knack %s of %s\n%s\n", o.out, o.tag, made.version, cmp.Or(made.revision, "no commit"), digest)
	if strings.HasSuffix(made.version, "+dirty") {
		fmt.Fprintln(w, "Files differ from the commit, so the commit does not give this image again.")
	}
	if target == nil {
		return nil
	}
	if err := made.push(ctx, target); err != nil {
		return fmt.Errorf("push %s: %w", target, err)
	}
	fmt.Fprintln(w, "pushed", target)
	return nil
}

// built has the images for all architectures, and their bills of materials.
type built struct {
	index             v1.ImageIndex
	referrers         []v1.Image
	version, revision string
}

// write makes an OCI layout. Its index.json lists the image, with the tag as its name, and each
// referrer.
func (b built) write(dir, tag string) error {
	path, err := layout.Write(dir, untagged)
	if err != nil {
		return err
	}
	if err := path.AppendIndex(b.index, layout.WithAnnotations(map[string]string{refName: tag})); err != nil {
		return err
	}
	for _, r := range b.referrers {
		if err := path.WriteImage(r); err != nil {
			return err
		}
		d, err := partial.Descriptor(r)
		if err != nil {
			return err
		}
		if err := path.AppendDescriptor(*d); err != nil {
			return err
		}
	}
	return nil
}

// push sends the image to a registry, and then the referrers. A registry finds a referrer by the
// digest of its subject.
func (b built) push(ctx context.Context, target name.Reference) error {
	opts := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	if err := remote.WriteIndex(target, b.index, opts...); err != nil {
		return err
	}
	for _, r := range b.referrers {
		digest, err := r.Digest()
		if err != nil {
			return err
		}
		if err := remote.Write(target.Context().Digest(digest.String()), r, opts...); err != nil {
			return err
		}
	}
	return nil
}

// moment returns the time in the image: epoch in seconds, or else the time of the commit.
func moment(epoch, commit string) (time.Time, error) {
	if epoch != "" {
		s, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil || s < 0 {
			return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is %q: give the seconds since 1970, such as those of git log -1 --format=%%ct", epoch)
		}
		return time.Unix(s, 0).UTC(), nil
	}
	if commit == "" {
		return time.Time{}, errors.New("the program names no commit, since the sources are no clone (a git worktree is none), or GOFLAGS has -buildvcs=false: give the time in the image with SOURCE_DATE_EPOCH, in seconds since 1970")
	}
	t, err := time.Parse(time.RFC3339, commit)
	return t.UTC(), err
}
