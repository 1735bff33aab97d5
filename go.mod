module farside

go 1.26
