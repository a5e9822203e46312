class Knack < Formula
  desc "<<summary>>"
  homepage "https://github.com/knack-dev/knack"
  version "<<version>>"
  license "Apache-2.0"

  on_macos do
    on_arm do
      url "<<url (archive "darwin" "arm64")>>"
      sha256 "<<digest (archive "darwin" "arm64")>>"
    end
    on_intel do
      url "<<url (archive "darwin" "amd64")>>"
      sha256 "<<digest (archive "darwin" "amd64")>>"
    end
  end

  on_linux do
    on_arm do
      url "<<url (archive "linux" "arm64")>>"
      sha256 "<<digest (archive "linux" "arm64")>>"
    end
    on_intel do
      url "<<url (archive "linux" "amd64")>>"
      sha256 "<<digest (archive "linux" "amd64")>>"
    end
  end

  def install
    bin.install "knack"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/knack.bash" => "knack"
    zsh_completion.install "completions/knack.zsh" => "_knack"
    fish_completion.install "completions/knack.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/knack --version")
  end
end
