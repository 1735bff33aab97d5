package ibv

const mutexWords = 6
