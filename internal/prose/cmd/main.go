package main
import ("fmt";"os";"path/filepath";"strings";"io/fs";"github.com/knack-dev/knack/internal/prose")
func main(){
 for _, root := range os.Args[1:] {
  var files []string
  filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
   if d.IsDir() && (d.Name()=="testdata"||d.Name()=="node_modules"||d.Name()==".git") {return fs.SkipDir}
   if strings.HasSuffix(p,".go") {files=append(files,p)}
   return nil})
  n, marks, err := prose.Comments(files)
  by := map[string]int{}
  for _, m := range marks { by[m.Pattern]++ }
  fmt.Printf("%s: %d sentences, %d marks, %.1f per 1000 %v %v\n", filepath.Base(root), n, len(marks), 1000*float64(len(marks))/float64(max(n,1)), by, err)
  if os.Getenv("SHOW")!="" { for _, m := range marks { fmt.Println("  ", m.Pattern, m.Pos, m.Sentence) } }
 }
}
