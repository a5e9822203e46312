package dir
