module inferogram

go 1.19
